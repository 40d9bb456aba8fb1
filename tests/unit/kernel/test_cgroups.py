from pathlib import Path

import pytest

from fairway.kernel import cgroups


def test_a_group_is_removed_from_every_controllers_tree(tmp_path: Path) -> None:
    for tree in ("pids", "memory", "."):
        (tmp_path / tree / "fairway/node/container").mkdir(parents=True)
    assert cgroups.remove("/fairway/node", tmp_path) == []
    assert not list(tmp_path.rglob("node"))
    assert (tmp_path / "pids/fairway").is_dir()


def test_a_group_in_use_stays_and_is_named(tmp_path: Path) -> None:
    busy = tmp_path / "pids/fairway/node"
    busy.mkdir(parents=True)
    (busy / "in-use").touch()
    assert cgroups.remove("/fairway/node", tmp_path) == [busy]


def test_a_group_with_other_owners_below_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "pids/fairway/other").mkdir(parents=True)
    (tmp_path / "memory/fairway").mkdir(parents=True)
    cgroups.remove_if_empty("/fairway", tmp_path)
    assert (tmp_path / "pids/fairway/other").is_dir()
    assert not (tmp_path / "memory/fairway").exists()


def test_the_root_group_can_not_be_removed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="root group"):
        cgroups.remove("/", tmp_path)
