"""The architecture, checked: who may import whom (docs/architecture.md)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "fairway"
COMPONENTS = {"apiserver", "controllers", "proxy", "dns", "ingress", "lb", "nodeagent"}
COMPOSITION = {"cli", "cluster"}
IMPURE = ("asyncio", "socket", "subprocess", "fairway.kernel", "fairway.client")
PURE_NAMES = {"plan", "model", "ruleset", "topology", "changes", "wire", "layout", "route", "negotiate"}
PURE_NAMES |= {"port_rules", "fixed", "style", "restore", "saved", "comparison"}


def modules() -> Iterator[Path]:
    return SOURCE.rglob("*.py")


def imports(path: Path) -> set[str]:
    """Every module a file imports, in full, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return found


def part(path: Path) -> str:
    """The folder under src/fairway that a file belongs to."""
    relative = path.relative_to(SOURCE)
    return relative.parts[0] if len(relative.parts) > 1 else ""


def is_pure(path: Path) -> bool:
    parts = path.relative_to(SOURCE).parts
    return part(path) in ("api", "diagnose") or path.stem in PURE_NAMES or "zone" in parts


def breaches(path: Path, imported: set[str]) -> list[str]:
    """What a file imports that it must not."""
    home = part(path)
    found = []
    for name in sorted(imported):
        if not name.startswith("fairway."):
            continue
        target = name.split(".")[1]
        if home in COMPONENTS and target in (COMPONENTS | COMPOSITION) - {home}:
            found.append(f"{home} imports {name}: components meet only through list and watch")
        if target == "storage" and home not in ("apiserver", "storage"):
            found.append(f"{home} imports {name}: only the API server knows storage")
        if home == "api" and target != "api":
            found.append(f"api imports {name}: api stands alone")
        if (
            home in ("kernel", "client", "storage", "httpserver", "images")
            and target in COMPONENTS | COMPOSITION
        ):
            found.append(f"{home} imports {name}: it must not know components")
        if target in COMPOSITION and home not in COMPOSITION:
            found.append(f"{home} imports {name}: nothing imports the command line")
    if is_pure(path):
        found += [
            f"{path.name} is pure but imports {name}"
            for name in sorted(imported)
            if name.startswith(tuple(f"{impure}." for impure in IMPURE)) or name in IMPURE
        ]
    return found


@pytest.mark.parametrize("path", sorted(modules()), ids=lambda path: str(path.relative_to(SOURCE)))
def test_file_imports_only_what_its_place_allows(path: Path) -> None:
    assert breaches(path, imports(path)) == []


@pytest.mark.parametrize(
    ("file", "imported"),
    [
        ("proxy/run.py", "fairway.dns.zone"),
        ("client/rest.py", "fairway.apiserver.run"),
        ("controllers/run.py", "fairway.storage.sqlite"),
        ("api/kind.py", "fairway.client"),
        ("proxy/nftables/plan.py", "asyncio"),
        ("proxy/nftables/plan.py", "fairway.kernel.nftables"),
        ("dns/run.py", "fairway.cli.main"),
    ],
)
def test_a_broken_rule_is_noticed(file: str, imported: str) -> None:
    assert breaches(SOURCE / file, {imported})
