"""What a plugin is: a link of the chain that answers a request, changes the answer of those behind it, or
neither.

Each plugin is one folder under `plugins/` with a class `PLUGIN` of this shape. The order of the chain is
one list, in `plugins/__init__.py`; it is never the order of the Corefile.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from fairway.dns.corefile import Block, Directive
from fairway.dns.metrics import Metrics
from fairway.dns.pages import Pages
from fairway.dns.wire import Query, Reply

if TYPE_CHECKING:
    from fairway.dns.cluster import Cluster
    from fairway.dns.zone.zone import Zone

Lookup = Callable[["Request", bytes, int], Awaitable[Reply]]
Handler = Callable[["Request"], Awaitable[Reply | None]]


@dataclass(frozen=True, slots=True)
class Request:
    """A query, who sent it, and a way to ask the whole server a further question on its behalf."""

    query: Query
    client: str
    tcp: bool
    lookup: Lookup
    port: int = 0
    depth: int = 0
    trail: list[str] | None = None
    """Where plugins write down what they did, if the client wants to know."""

    @property
    def name(self) -> bytes:
        """The name asked for, in small letters."""
        return self.query.key

    def note(self, text: str) -> None:
        if self.trail is not None:
            self.trail.append(text)

    def asking(self, query: Query) -> Request:
        """The same request with another question."""
        return replace(self, query=query)


@dataclass(frozen=True)
class Surroundings:
    """What is outside the chain and shared by all server blocks: files, the cluster, the process."""

    cluster: Callable[[str], Cluster]
    """The cluster of a kubeconfig ("" for the one the command line names)."""
    read_file: Callable[[str], str]
    clock: Callable[[], float]
    reload: Callable[[], Awaitable[bool]]
    """Reads the Corefile anew and serves it, if it has changed and is right; whether it was so."""
    fail: Callable[[Exception], None]
    """Ends the server: something was found that makes serving pointless or harmful."""
    not_ready: Callable[[], Sequence[str]]
    """Names of the plugins that are not ready yet."""
    pages: Pages = field(default_factory=Pages)
    metrics: Metrics = field(default_factory=Metrics)


@dataclass(frozen=True)
class Setup:
    """What plugins may know when their server block is set up."""

    block: Block
    zones: tuple[bytes, ...]
    port: int
    around: Surroundings
    plugins: dict[str, Plugin] = field(default_factory=dict)
    """The plugins of the block by name; complete once all have been made."""


class Plugin:
    """One directive of a server block. The defaults here are those of a plugin that does nothing."""

    name: ClassVar[str] = ""
    repeats: ClassVar[bool] = False
    """Whether the directive may be written more than once in a block."""
    any_class: ClassVar[bool] = False
    """Whether questions of classes other than IN make sense with this plugin."""
    same_for_all: ClassVar[bool] = False
    """Whether it treats a question alike whoever asks it and however often, so answers may be repeated."""

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        self.setup = setup

    async def serve(self, request: Request, ahead: Handler) -> Reply | None:
        """The answer; `ahead` asks the plugins behind. None means that nobody has an answer."""
        return await ahead(request)

    def passes(self, zone: Zone) -> bool:
        """Whether prebuilt answers of this zone may go past the plugin, as it would not change them."""
        return type(self).serve is Plugin.serve

    async def start(self) -> None:
        """Called once all plugins exist and before questions are served."""

    async def before_end(self) -> None:
        """Called when the server was told to end, while it still serves."""

    async def stop(self) -> None:
        """Called once questions are no longer served by this plugin."""

    def ready(self) -> bool:
        return True
