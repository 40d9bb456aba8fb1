"""Sessions in documents, run as they stand: what a reader types after `$ `, and what they should see.

A fenced block marked `console` holds them. In what is seen, `…` stands for anything within a line, and a
line of nothing but `…` for any lines; how many spaces there are doesn't matter. A command that only looks is
repeated until it shows what it should, as a reader would repeat it; one that changes something is not.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ANYTHING = "…"
PATIENCE = 30.0
_END = "end-of-output"
_CHANGES = re.compile(
    r"\b(kubectl|fairway) (apply|create|delete|patch|scale|label|annotate|expose|set|rollout|run|register)\b"
)
# kubectl says this of every look at Endpoints; readers of a document can do without.
_NOISE = re.compile(r"Warning: v1 Endpoints is deprecated .*\n")


@dataclass(frozen=True, slots=True)
class Step:
    command: str
    expected: tuple[str, ...]

    @property
    def changes_something(self) -> bool:
        return bool(_CHANGES.search(self.command))

    def is_met_by(self, output: str) -> bool:
        return bool(
            _pattern(self.expected).fullmatch("".join(f"{line}\n" for line in _tidy(output.splitlines())))
        )


def steps(document: str) -> Iterator[Step]:
    for block in re.findall(r"^```console\n(.*?)^```", document, re.MULTILINE | re.DOTALL):
        yield from _steps(block.splitlines())


def _steps(lines: list[str]) -> Iterator[Step]:
    command, expected = "", []
    for line in lines:
        if command.endswith("\\") and not expected:
            command += "\n" + line.removeprefix("> ")
        elif line.startswith("$ "):
            if command:
                yield Step(command, tuple(expected))
            command, expected = line[2:], []
        else:
            expected.append(line)
    if command:
        yield Step(command, tuple(expected))


def _tidy(lines: list[str] | tuple[str, ...]) -> list[str]:
    """Spaces evened out, empty lines left out."""
    return [" ".join(line.split()) for line in lines if line.strip()]


def _pattern(expected: tuple[str, ...]) -> re.Pattern[str]:
    parts = []
    for line in _tidy(expected):
        if line == ANYTHING:
            parts.append(r"(?:.*\n)*")
        else:
            parts.append(".*".join(map(re.escape, line.split(ANYTHING))) + r"\n")
    return re.compile("".join(parts))


HOME = Path(__file__).with_name("home")
"""How curl is set up here."""


class Shell:
    """One bash for a whole session, so that its variables last."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            ["bash"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**environment, "CURL_HOME": str(HOME)},
            text=True,
        )

    def run(self, command: str) -> str:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{{ {command}\n}} < /dev/null\necho; echo {_END}\n")
        self._process.stdin.flush()
        lines = []
        for line in self._process.stdout:
            if line.strip() == _END:
                return _NOISE.sub("", "".join(lines))
            lines.append(line)
        raise AssertionError(f"the shell ended in the middle of: {command}\n{''.join(lines)}")

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def play(document: Path, folder: Path, environment: Mapping[str, str]) -> int:
    """Run a document's session; returns how many commands it had. Raises where something else is seen."""
    shell, count = Shell(folder, environment), 0
    try:
        for step in steps(document.read_text()):
            _play(shell, step)
            count += 1
    finally:
        shell.close()
    return count


def _play(shell: Shell, step: Step) -> None:
    deadline = time.monotonic() + PATIENCE
    while not step.is_met_by(output := shell.run(step.command)):
        if step.changes_something or time.monotonic() > deadline:
            wanted = "\n".join(step.expected)
            raise AssertionError(f"$ {step.command}\n--- shows:\n{output}\n--- should show:\n{wanted}")
        time.sleep(0.1)
