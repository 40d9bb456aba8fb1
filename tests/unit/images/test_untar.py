import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairway.images.untar import UnsafeLayer, read_in_root, unpack
from tests.unit.images.archives import Member, entry, tar

NOBODY = 65534


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder of nobody's. These tests run without root's rights: one that fails must not harm the host."""
    folder = Path(tempfile.mkdtemp(prefix="fairway-untar-"))
    privileged = os.geteuid() == 0
    if privileged:
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    try:
        yield folder
    finally:
        if privileged:
            os.seteuid(0)
        shutil.rmtree(folder)


@pytest.fixture
def root(place: Path) -> Path:
    folder = place / "inside" / "rootfs"
    folder.mkdir(parents=True)
    return folder


def layer(root: Path, *members: Member) -> None:
    unpack(io.BytesIO(tar(*members)), root)


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_files_folders_and_links_come_out_with_their_modes(root: Path) -> None:
    layer(
        root,
        entry("bin", kind=tarfile.DIRTYPE, mode=0o711),
        entry("bin/tool", b"x", mode=0o4755),
        entry("bin/alias", kind=tarfile.SYMTYPE, link="tool"),
        entry("bin/same", kind=tarfile.LNKTYPE, link="bin/tool"),
    )
    assert (root / "bin").stat().st_mode & 0o777 == 0o711
    assert (root / "bin/tool").stat().st_mode & 0o7777 == 0o4755
    assert os.readlink(root / "bin/alias") == "tool"
    assert (root / "bin/same").stat().st_ino == (root / "bin/tool").stat().st_ino


@pytest.mark.parametrize(
    "member",
    [
        entry("../escape", b"x"),
        entry("a/../../escape", b"x"),
        entry("same", kind=tarfile.LNKTYPE, link="../../secret"),
        entry(".wh...", b""),
    ],
    ids=["parent", "nested parent", "hard link", "whiteout"],
)
def test_paths_that_lead_upwards_are_refused(root: Path, member: Member) -> None:
    (root.parent.parent / "secret").write_text("mine")
    with pytest.raises(UnsafeLayer):
        layer(root, member)
    assert everything(root.parent.parent) == {"secret", "inside", "inside/rootfs"}


def test_an_absolute_path_lands_inside(root: Path) -> None:
    layer(root, entry("/etc/passwd", b"root"))
    assert (root / "etc/passwd").read_bytes() == b"root"


@pytest.mark.parametrize("target", ["/", "../../..", "/tmp"], ids=["root", "up", "elsewhere"])
def test_a_planted_link_leads_nowhere_outside(root: Path, place: Path, target: str) -> None:
    link = entry("door", kind=tarfile.SYMTYPE, link=target)
    layer(root, link, entry("tmp", kind=tarfile.DIRTYPE, mode=0o755))
    layer(root, entry("door/planted", b"x"))
    assert (root / "planted").exists() or (root / "tmp/planted").exists()
    assert not Path("/planted").exists()
    assert not Path("/tmp/planted").exists()
    assert everything(place) - {"inside", "inside/rootfs"} == {
        f"inside/rootfs/{name}" for name in everything(root)
    }


def test_a_file_replaces_a_link_instead_of_writing_through_it(root: Path, place: Path) -> None:
    victim = place / "victim"
    victim.write_text("safe")
    layer(root, entry("conf", kind=tarfile.SYMTYPE, link=str(victim)))
    layer(root, entry("conf", b"evil"))
    assert victim.read_text() == "safe"
    assert (root / "conf").read_bytes() == b"evil"


def test_a_whiteout_removes_what_a_lower_layer_put_there(root: Path) -> None:
    layer(root, entry("a/one", b"1"), entry("a/two", b"2"), entry("b/three", b"3"))
    layer(root, entry("a/.wh.one"), entry(".wh.b"))
    assert everything(root) == {"a", "a/two"}


def test_an_opaque_folder_keeps_only_what_its_own_layer_brings(root: Path) -> None:
    layer(root, entry("a/old", b"1"))
    layer(root, entry("a/new", b"2"), entry("a/.wh..wh..opq"))
    assert everything(root) == {"a", "a/new"}


def test_reading_follows_links_as_if_the_image_were_the_whole_world(root: Path) -> None:
    layer(root, entry("real/passwd", b"of the image"), entry("etc", kind=tarfile.SYMTYPE, link="/real"))
    assert read_in_root(root, "/etc/passwd") == b"of the image"
    layer(root, entry("up", kind=tarfile.SYMTYPE, link="../../../../etc/passwd"))
    assert read_in_root(root, "/up") == b"of the image"
