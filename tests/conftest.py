"""Fixtures that choose the broker and the Redis of a test, and the line that says whether the real suite ran."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from support import commands, platforms
from support.deployments import Deployment
from support.platforms import Platform
from support.real import choose, is_ci

REAL_SUITE = pytest.StashKey[str]()
UNASKED = "skipped (no test that ran asks for it)"


@pytest.fixture(scope="session", params=[platforms.EMBEDDED, platforms.REAL])
def platform(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Each environment in turn: a behaviour suite that asks for it runs on both."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == platforms.EMBEDDED:
        with platforms.embedded(folder) as running:
            yield running
    else:
        yield from _real(request.config, folder)


@pytest.fixture
def deployment(platform: Platform, request: pytest.FixtureRequest) -> Deployment:
    """Topic and key names of this test alone, on each platform."""
    return Deployment.on(platform, request.node.name)


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an embedded Valkey, for tests of a room that need no broker."""
    server = commands.valkey(tmp_path_factory.mktemp("valkey"))
    try:
        server.start()
        yield f"redis://127.0.0.1:{server.port}/0"
    finally:
        server.stop()


def _real(config: pytest.Config, folder: Path) -> Iterator[Platform]:
    choice = choose()
    if choice.how is None:
        config.stash[REAL_SUITE] = f"skipped ({choice.why})"
        if is_ci():
            pytest.fail(f"CI runs the real suite, but: {choice.why}", pytrace=False)
        pytest.skip(choice.why)
    config.stash[REAL_SUITE] = f"failed to start ({choice.how})"
    with platforms.real(choice, folder) as running:
        config.stash[REAL_SUITE] = "ran"
        yield running


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    """Say last, after pytest's own closing line, whether the real suite ran."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not session.config.option.collectonly:
        reporter.write_line(f"real suite: {session.config.stash.get(REAL_SUITE, UNASKED)}")
