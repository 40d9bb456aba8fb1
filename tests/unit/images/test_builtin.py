import os
from contextlib import nullcontext
from io import BytesIO
from pathlib import Path

import pytest

from fairway.images import builtin
from fairway.images.reference import parse
from fairway.images.resolve import ImageResolver, InvalidImageName, MissingImage
from fairway.images.store import ImageError, ImageStore
from tests.unit.images.archives import config, entry, tar

needs_busybox = pytest.mark.skipif(not builtin.BUSYBOX.exists(), reason="needs busybox-static")


@pytest.fixture
def resolver(tmp_path: Path) -> ImageResolver:
    return ImageResolver(ImageStore(tmp_path))


@needs_busybox
@pytest.mark.parametrize(
    "name",
    ["busybox", "busybox:1.36", "docker.io/library/busybox", "k8s.gcr.io/serve_hostname", "nginx:1.14.2"],
)
def test_the_examples_images_are_built_in_under_any_tag(resolver: ImageResolver, name: str) -> None:
    image = resolver.resolve(name)
    assert image.config.cmd
    assert os.access(image.rootfs / "bin/busybox", os.X_OK)
    assert os.readlink(image.rootfs / "bin/sh") == "busybox"


@needs_busybox
def test_the_same_recipe_gives_the_same_digest_everywhere(tmp_path: Path) -> None:
    digests = {ImageResolver(ImageStore(tmp_path / str(n))).resolve("busybox").digest for n in range(2)}
    assert len(digests) == 1


@needs_busybox
def test_an_image_someone_loaded_comes_before_a_built_in_one(tmp_path: Path) -> None:
    store, layer = ImageStore(tmp_path), tar(entry("mine", b""))
    loaded = store.add(config(layer), [lambda: nullcontext(BytesIO(layer))], ["nginx:1"])
    resolver = ImageResolver(store)
    assert resolver.resolve("nginx:1") == loaded
    assert resolver.resolve("nginx:2") != loaded


@needs_busybox
def test_nothing_of_the_hosts_own_files_is_in_a_built_in_image(resolver: ImageResolver) -> None:
    image = resolver.resolve("k8s.gcr.io/serve_hostname")
    assert (image.rootfs / "etc/passwd").read_text().splitlines()[0] == "root:x:0:0:root:/root:/bin/sh"
    assert sorted(path.name for path in (image.rootfs / "etc").iterdir()) == ["group", "passwd"]
    assert list((image.rootfs / "root").iterdir()) == []


def test_a_missing_image_says_what_to_do(resolver: ImageResolver) -> None:
    with pytest.raises(MissingImage, match="fairway image load FILE"):
        resolver.resolve("example.com/nope:1")
    with pytest.raises(InvalidImageName):
        resolver.resolve("Not A Name")


def test_a_busybox_that_is_not_static_is_named(tmp_path: Path) -> None:
    recipe = builtin.recipe_for(parse("busybox"))
    assert recipe
    with pytest.raises(ImageError, match="busybox-static"):
        builtin.build(ImageStore(tmp_path), recipe, tmp_path / "nope")
    with pytest.raises(ImageError, match="not statically linked"):
        builtin.build(ImageStore(tmp_path), recipe, Path("/bin/ls"))
