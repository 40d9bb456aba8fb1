"""Ports of a Pod that get in each other's way."""

from __future__ import annotations

from collections.abc import Sequence

from fairway.api.kind import Obj


def port_warnings(containers: Sequence[tuple[str, Obj]]) -> list[str]:
    warnings: list[str] = []
    known: dict[tuple[int, str], list[tuple[str, Obj]]] = {}
    for place, container in containers:
        for index, port in enumerate(container.get("ports") or ()):
            where = f"{place}.ports[{index}]"
            if port.get("hostIP") and not port.get("hostPort"):
                warnings.append(f"{where}: hostIP set without hostPort: {_shown(port)}")
            others = known.setdefault((port.get("containerPort", 0), port.get("protocol", "")), [])
            for other_place, other in others:
                if relation := _relation(port, other):
                    warnings.append(f"{where}: {relation} port definition with {other_place}")
            others.append((where, port))
    return warnings


def _relation(port: Obj, other: Obj) -> str:
    address, other_address = port.get("hostIP", ""), other.get("hostIP", "")
    number, other_number = port.get("hostPort", 0), other.get("hostPort", 0)
    if (address, number) == (other_address, other_number):
        return "duplicate"
    if not number or not other_number:
        return "overlapping"
    one_open = (not address) != (not other_address)
    return "dangerously ambiguous" if number == other_number and one_open else ""


def _shown(port: Obj) -> str:
    return (
        f"{{Name:{port.get('name', '')} HostPort:{port.get('hostPort', 0)} "
        f"ContainerPort:{port.get('containerPort', 0)} Protocol:{port.get('protocol', '')} "
        f"HostIP:{port.get('hostIP', '')}}}"
    )
