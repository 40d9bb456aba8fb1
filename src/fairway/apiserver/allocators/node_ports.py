"""Node ports of a Service, health check port included: which to take, which to give back. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from fairway.api.kind import Obj
from fairway.api.kinds.service.traits import (
    allocates_node_ports,
    held_node_ports,
    needs_health_check_port,
    needs_node_ports,
)
from fairway.api.validation.fields import FieldError, invalid_value
from fairway.apiserver.allocators.ranges import Band, pick_free

ALLOCATED = "provided port is already allocated"


class PortRefused(Exception):
    """A port that was asked for can't be had."""

    def __init__(self, error: FieldError) -> None:
        super().__init__(error.message())
        self.error = error


class PortsExhausted(Exception):
    """No port is free; `what` for."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


@dataclass(slots=True)
class PortChange:
    """What one write of a Service does to the ports; numbers are put into the Service as they are taken."""

    band: Band
    in_use: Callable[[int], bool]
    rng: random.Random
    taken: set[int] = field(default_factory=set)
    freed: set[int] = field(default_factory=set)

    def create(self, spec: Obj) -> None:
        if needs_node_ports(spec):
            self._take_first(spec)
        if needs_health_check_port(spec):
            self._take_health_check(spec)

    def update(self, spec: Obj, before: Obj) -> None:
        held = held_node_ports(before)
        if needs_node_ports(spec):
            self._take_more(spec, held)
        self.freed |= held - held_node_ports(spec)
        needed = needs_health_check_port(before)
        if not needed and needs_health_check_port(spec):
            self._take_health_check(spec)
        elif needed and not needs_health_check_port(spec):
            self.freed |= _health_check(before)

    def delete(self, before: Obj) -> None:
        self.freed |= held_node_ports(before) | _health_check(before)

    def _take_first(self, spec: Obj) -> None:
        """Ports of the same number (one for TCP, one for UDP) share a node port unless they ask for two."""
        ports = spec.get("ports") or []
        shared: dict[int, int] = {}
        for index, port in enumerate(ports):
            wanted, number = port.get("nodePort") or 0, port["port"]
            if not wanted and not allocates_node_ports(spec):
                continue
            if number not in shared:
                chosen = next((p["nodePort"] for p in ports if p["port"] == number and p.get("nodePort")), 0)
                if chosen:
                    self._take(chosen, f"spec.ports[{index}].nodePort")
                else:
                    chosen = self._pick("nodePort")
                port["nodePort"] = shared[number] = chosen
            elif not wanted:
                port["nodePort"] = shared[number]
            elif wanted != shared[number]:
                self._take(wanted, f"spec.ports[{index}].nodePort")

    def _take_more(self, spec: Obj, held: set[int]) -> None:
        for index, port in enumerate(spec.get("ports") or ()):
            wanted = port.get("nodePort") or 0
            if not wanted:
                if allocates_node_ports(spec):
                    port["nodePort"] = self._pick("nodePort")
            elif wanted not in held and wanted not in self.taken:
                self._take(wanted, f"spec.ports[{index}].nodePort")

    def _take_health_check(self, spec: Obj) -> None:
        wanted = spec.get("healthCheckNodePort") or 0
        if wanted:
            self._take(wanted, "spec.healthCheckNodePort")
        else:
            spec["healthCheckNodePort"] = self._pick("HealthCheck NodePort")

    def _take(self, number: int, where: str) -> None:
        if number not in self.band:
            detail = (
                "provided port is not in the valid range. The range of valid ports is"
                f" {self.band.first}-{self.band.last}"
            )
            raise PortRefused(invalid_value(where, number, detail))
        if number in self.taken or self.in_use(number):
            raise PortRefused(invalid_value(where, number, ALLOCATED))
        self.taken.add(number)

    def _pick(self, what: str) -> int:
        number = pick_free(self.band, lambda n: n in self.taken or self.in_use(n), self.rng)
        if number is None:
            raise PortsExhausted(what)
        self.taken.add(number)
        return number


def _health_check(spec: Obj) -> set[int]:
    number = spec.get("healthCheckNodePort") if needs_health_check_port(spec) else None
    return {number} if number else set()
