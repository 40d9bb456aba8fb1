"""One API request, understood: who asks, for which verb, on which resource and object."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairway.api.kind import Kind
from fairway.api.validation.managed_fields import LONGEST_MANAGER
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

    @property
    def field_validation(self) -> str:
        """How strictly unknown fields are taken; a warning for each unless the client says otherwise."""
        return self.params.get("fieldValidation") or "Warn"

    @property
    def manager(self) -> str:
        """Who is to own what this call writes: as the client says, else the program that it is."""
        return self.params.get("fieldManager") or program_name(self.request.headers.get("user-agent", ""))

    def flag(self, name: str) -> bool:
        """A boolean query parameter, as Kubernetes reads them: anything but 0 and false is true."""
        value = self.params.get(name)
        return value is not None and value.lower() not in ("0", "false")


def program_name(agent: str) -> str:
    """The first word of a User-Agent, as far as it can be shown and is not too long."""
    name = agent.partition("/")[0]
    if len(name) <= LONGEST_MANAGER and name.isascii() and name.isprintable():
        return name
    shown = "".join(character for character in name if character.isprintable())
    return shown.encode()[:LONGEST_MANAGER].decode(errors="ignore")
