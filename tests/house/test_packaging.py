"""What a user installs: one top-level package, with all of every room in it, and no `agents` beside it."""

import importlib.util
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("affect", "agents", "cli", "query", "schemas", "state", "streams")
BUILD = "import sys, setuptools.build_meta as b; print(getattr(b, sys.argv[1])(sys.argv[2]))"


def run(code: str, *arguments: str, cwd: Path) -> str:
    command = [sys.executable, "-P", "-c", code, *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.Path:
    """Build source distribution and wheel as a package index would get them, from a copy without leftovers."""
    folder = tmp_path_factory.mktemp("build")
    source, dist = folder / "source", folder / "dist"
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
    source.mkdir()
    for name in ROOMS:
        shutil.copytree(ROOT / name, source / name, ignore=ignore)
    shutil.copytree(ROOT / "src", source / "src", symlinks=True, ignore=ignore)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    archive = dist / run(BUILD, "build_sdist", str(dist), cwd=source)
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    unpacked = folder / archive.name.removesuffix(".tar.gz")
    return zipfile.Path(dist / run(BUILD, "build_wheel", str(dist), cwd=unpacked))


def test_wheel_holds_moodstream_alone(wheel: zipfile.Path) -> None:
    top = {entry.name for entry in wheel.iterdir()}
    assert {name for name in top if not name.endswith(".dist-info")} == {"moodstream"}


def test_wheel_holds_every_file_of_every_room(wheel: zipfile.Path) -> None:
    wanted = {f"moodstream/{path.relative_to(ROOT)}" for room in ROOMS for path in (ROOT / room).rglob("*")}
    wanted = {name for name in wanted if "__pycache__" not in name and (ROOT / name.partition("/")[2]).is_file()}
    packed = {name for name in wheel.root.namelist() if not name.endswith("/")}
    assert wanted - packed == set()
    beside = {f"moodstream/{path.name}" for path in (ROOT / "src/moodstream").iterdir() if path.is_file()}
    assert {name for name in packed if ".dist-info/" not in name} - wanted == beside


def test_wheel_carries_the_licence(wheel: zipfile.Path) -> None:
    texts = [name for name in wheel.root.namelist() if name.endswith("licenses/LICENSE")]
    assert [wheel.root.read(name) for name in texts] == [(ROOT / "LICENSE").read_bytes()]


def test_every_room_is_linked_into_the_package() -> None:
    links = {path.name: path.resolve() for path in (ROOT / "src/moodstream").iterdir() if path.is_symlink()}
    assert links == {room: ROOT / room for room in ROOMS}


def test_rooms_do_not_shadow_packages_of_their_names() -> None:
    assert str(ROOT) not in sys.path
    for room in ROOMS:
        spec = importlib.util.find_spec(room)
        assert spec is None or spec.origin is None or not Path(spec.origin).is_relative_to(ROOT), room


def test_publishing_needs_neither_worker_nor_service(tmp_path: Path) -> None:
    heavy = {"faust", "mode", "redis", "fastapi", "uvicorn", "numpy"}
    code = "import sys, moodstream.schemas, moodstream.streams.bus; print(sorted(set(sys.modules)))"
    loaded = run(code, cwd=tmp_path)
    assert [name for name in heavy if f"'{name}'" in loaded] == []
