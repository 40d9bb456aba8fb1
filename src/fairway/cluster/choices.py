"""What the user asked of `fairway up`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Choices:
    data: Path
    nodes: int
    port: int
    proxy_mode: str
    store: str = ""
    """Where the API server keeps its objects; empty for a file under `data`."""

    def arguments(self) -> list[str]:
        """The same choices as words for `fairway up`."""
        words = ["--data", str(self.data), "--nodes", str(self.nodes), "--port", str(self.port)]
        words += ["--proxy-mode", self.proxy_mode]
        return [*words, "--store", self.store] if self.store else words
