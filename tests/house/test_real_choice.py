"""Which real Kafka and Redis the tests take, and what they say when there is none."""

import pytest

from support.real import BOOTSTRAP, REDIS, Choice, choose, is_ci

GIVEN = {BOOTSTRAP: "127.0.0.1:1", REDIS: "redis://127.0.0.1:2/0"}


def everything(command: str) -> str:
    return f"/bin/{command}"


def choice(env: dict[str, str] | None = None, *, docker: bool = False, has: set[str] | None = None) -> Choice:
    def which(command: str) -> str | None:
        return everything(command) if has is None or command in has else None

    return choose(env or {}, docker=lambda: docker, which=which)


def test_addresses_in_the_environment_come_first() -> None:
    assert choice(GIVEN, docker=True).how == "environment"


def test_docker_comes_before_java() -> None:
    assert choice(docker=True).how == "docker"


def test_java_maven_and_redis_will_do() -> None:
    assert choice().how == "java"


@pytest.mark.parametrize(("missing", "title"), [("java", "Java"), ("mvn", "Maven"), ("redis-server", "redis-server")])
def test_what_is_missing_is_named(missing: str, title: str) -> None:
    found = choice(has={"java", "mvn", "redis-server"} - {missing})
    assert found.how is None
    assert title in found.why
    assert "\n" not in found.why


@pytest.mark.parametrize("name", [BOOTSTRAP, REDIS])
def test_one_address_alone_is_a_mistake_and_not_a_wish(name: str) -> None:
    found = choice({name: GIVEN[name]}, docker=True)
    assert found.how is None
    assert name in found.why


def test_only_ci_makes_a_skip_a_failure() -> None:
    assert [is_ci({"CI": value}) for value in ("true", "1", "false", "")] == [True, True, False, False]
    assert not is_ci({})
