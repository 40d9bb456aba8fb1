from pathlib import Path

import pytest

from fairway.images import archive
from fairway.images.reference import parse
from fairway.images.store import ImageError, ImageStore
from tests.unit.images.archives import config, docker_archive, entry, oci_archive, tar

LAYER = tar(entry("hello.txt", b"hello"))


@pytest.fixture
def store(tmp_path: Path) -> ImageStore:
    return ImageStore(tmp_path / "images")


def test_a_docker_archive_is_found_by_the_names_it_holds(store: ImageStore, tmp_path: Path) -> None:
    top = tar(entry("top.txt", b"top"), entry(".wh.hello.txt"))
    file = docker_archive(tmp_path / "a.tar", [LAYER, top], ["app:1"])
    archive.load(store, file, ("other:2",))
    image = store.find(parse("app:1"))
    assert image
    assert [path.name for path in image.rootfs.iterdir()] == ["top.txt"]
    assert image.config.cmd == ["sh"]
    assert store.find(parse("other:2")) == image
    assert store.find(parse(f"whatever@{image.digest}")) == image
    assert store.find(parse("app:2")) is None


def test_an_oci_archive_is_loaded_with_compressed_layers(store: ImageStore, tmp_path: Path) -> None:
    archive.load(store, oci_archive(tmp_path / "a.tar", LAYER, "docker.io/me/app:1"))
    image = store.find(parse("me/app:1"))
    assert image
    assert (image.rootfs / "hello.txt").read_bytes() == b"hello"


@pytest.mark.parametrize("part", ["layer", "config", "manifest"])
def test_a_part_without_its_digest_is_refused(store: ImageStore, tmp_path: Path, part: str) -> None:
    file = oci_archive(tmp_path / "a.tar", LAYER, "app:1", corrupt=part)
    with pytest.raises(ImageError, match="digest"):
        archive.load(store, file)
    assert list(store.names()) == []


def test_a_layer_that_is_not_the_one_promised_leaves_nothing(store: ImageStore, tmp_path: Path) -> None:
    other = tar(entry("evil.txt", b"evil"))
    file = docker_archive(tmp_path / "a.tar", [other], ["app:1"], image=config(LAYER))
    with pytest.raises(ImageError, match="has digest"):
        archive.load(store, file)
    assert store.find(parse("app:1")) is None
    assert [path.name for path in (tmp_path / "images").iterdir()] == ["sha256"]
    assert list((tmp_path / "images/sha256").iterdir()) == []


def test_loading_twice_is_fine(store: ImageStore, tmp_path: Path) -> None:
    file = docker_archive(tmp_path / "a.tar", [LAYER], ["app:1"])
    first, second = archive.load(store, file), archive.load(store, file)
    assert first == second


@pytest.mark.parametrize("content", [b"", b"no archive", tar(entry("x", b"y"))])
def test_what_is_no_image_is_named(store: ImageStore, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.tar"
    file.write_bytes(content)
    with pytest.raises(ImageError, match=r"a\.tar"):
        archive.load(store, file)
