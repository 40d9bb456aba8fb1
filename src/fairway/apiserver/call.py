"""One API request, understood: who asks, for which verb, on which resource and object."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairway.api.kind import Kind
from fairway.httpserver import Request


@dataclass(frozen=True, slots=True)
class User:
    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(slots=True)
class Call:
    request: Request
    kind: Kind
    verb: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""
    """What follows the subresource in the path (for proxies)."""
    params: dict[str, str] = field(default_factory=dict)
    user: User = field(default_factory=lambda: User("system:anonymous"))
    warnings: list[str] = field(default_factory=list)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def dry_run(self) -> bool:
        return "dryRun" in self.params

    def flag(self, name: str) -> bool:
        """A boolean query parameter, as Kubernetes reads them: anything but 0 and false is true."""
        value = self.params.get(name)
        return value is not None and value.lower() not in ("0", "false")
