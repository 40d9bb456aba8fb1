"""The committed tables are what their sources say."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[4]
SCHEMA = ROOT / "src" / "fairway" / "api" / "schema"


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("kubernetes_validate")
    monkeypatch.syspath_prepend(ROOT / "tools")
    return importlib.import_module("generate_schema")


def committed(name: str) -> Any:
    return json.loads((SCHEMA / name).read_text())


def test_shapes_and_messages_are_those_the_generator_writes(generator: ModuleType) -> None:
    definitions, structs = generator.load_definitions(), generator.load_go_fields()
    shapes = generator.shapes(definitions, structs)
    assert committed("shapes.json") == {"kinds": generator.kinds(definitions), "shapes": shapes}
    assert committed("messages.json") == {"messages": generator.messages(shapes, structs)}


def test_how_go_declares_a_field_is_known_for_every_field(generator: ModuleType) -> None:
    structs = generator.load_go_fields()
    for name, (_, rows) in committed("shapes.json")["shapes"].items():
        assert {row[0] for row in rows} <= generator.flatten(structs, name).keys(), name
