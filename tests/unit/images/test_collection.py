from pathlib import Path

import pytest
from click.testing import CliRunner

from fairway.cli.image import command
from fairway.images import archive
from fairway.images.collection import Gone, collect, hold
from fairway.images.model import Image
from fairway.images.reference import parse
from fairway.images.store import ImageStore
from tests.unit.images.archives import docker_archive, entry, tar


@pytest.fixture
def store(tmp_path: Path) -> ImageStore:
    return ImageStore(tmp_path / "images")


def loaded(store: ImageStore, tmp_path: Path, content: bytes, name: str) -> Image:
    file = docker_archive(tmp_path / "image.tar", [tar(entry("file", content))], [name])
    return archive.load(store, file)[0][0]


def test_an_image_whose_name_moved_on_goes_unless_a_container_uses_it(
    store: ImageStore, tmp_path: Path
) -> None:
    old = loaded(store, tmp_path, b"old", "app:latest")
    run = tmp_path / "run"
    run.mkdir()
    hold(store, old, "container-1", run)
    new = loaded(store, tmp_path, b"new", "app:latest")
    assert collect(store) == []
    (run / "exit.json").touch()
    assert collect(store) == [old.digest]
    assert store.digests() == [new.digest]
    assert collect(store) == []


def test_a_container_whose_folder_is_gone_holds_nothing(store: ImageStore, tmp_path: Path) -> None:
    image = loaded(store, tmp_path, b"x", "app:latest")
    hold(store, image, "container-1", tmp_path / "never-made")
    store.forget(parse("app"))
    assert collect(store) == [image.digest]


def test_an_image_that_was_just_removed_can_not_be_held(store: ImageStore, tmp_path: Path) -> None:
    image = loaded(store, tmp_path, b"x", "app:latest")
    store.forget(parse("app"))
    collect(store)
    with pytest.raises(Gone):
        hold(store, image, "container-1", tmp_path)


def test_images_are_removed_by_name_on_the_command_line(store: ImageStore, tmp_path: Path) -> None:
    image = loaded(store, tmp_path, b"x", "app:latest")
    done = CliRunner().invoke(command, ["--images", str(store.folder), "rm", "app"])
    assert done.output == f"removed app\ndeleted {image.digest}\n"
    assert list(store.names()) == []
    again = CliRunner().invoke(command, ["--images", str(store.folder), "rm", "app"])
    assert again.exit_code == 1
    assert "there is no image app" in again.output


def test_pulling_goes_through_skopeo_and_says_so_where_there_is_none(
    store: ImageStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    missing = CliRunner().invoke(command, ["--images", str(store.folder), "pull", "app"])
    assert "needs skopeo" in missing.output
    file = docker_archive(tmp_path / "image.tar", [tar(entry("file", b"pulled"))], ["other:1"])
    skopeo = programs / "skopeo"
    skopeo.write_text(
        "#!/bin/sh\n[ $3 = docker://docker.io/library/app:latest ] && "
        f"/bin/cp {file} ${{4#docker-archive:}}\n"
    )
    skopeo.chmod(0o755)
    done = CliRunner().invoke(command, ["--images", str(store.folder), "pull", "app"])
    assert done.exit_code == 0, done.output
    assert "docker.io/library/app:latest" in dict(store.names())
