"""How the controllers are started."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


class UnknownController(ValueError):
    """A name in `--controllers` that no controller has."""


@dataclass(frozen=True, slots=True)
class Config:
    """`controllers` is kube-controller-manager's list: `*` for all, `name` to add, `-name` to leave out."""

    kubeconfig: Path
    controllers: tuple[str, ...] = ("*",)
    leader_elect: bool = False
    identity: str = ""
    root_ca_file: Path | None = None


def chosen(selection: Iterable[str], known: Iterable[str]) -> list[str]:
    """The controllers a list asks for, in the order in which they are known."""
    listed, names = list(selection), list(known)
    for entry in listed:
        if entry != "*" and entry.removeprefix("-") not in names:
            raise UnknownController(f"{entry!r} is not a controller; there are {', '.join(names)}")
    everything = "*" in listed
    return [n for n in names if f"-{n}" not in listed and (everything or n in listed)]
