"""Sessions with kubectl as a user would have them: what is typed, and what the screen then shows.

A session is a text file. `$ ` begins a command, the lines after it are what it prints, `[1]` its exit status
if it is not 0. Lines that begin with `#` before a command say more of it: `#since 1.24` and `#until 1.23`
which kubectl it is for, `#open WHY` that it is known not to go that way. `<ip>` and the like stand for what
differs each time, `...` for any number of lines, `?` at the beginning of a line for one that may be missing.
Runs of blanks and empty lines don't count. Commands are run in order, each once, and never through a shell.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.conformance.server import ApiServer

FOLDER = Path(__file__).parent / "kubectl"
PATIENCE = 30
PLACEHOLDERS = {
    "age": r"\d+[smhd][0-9smhd]*",
    "any": r".*",
    "ip": r"\d+\.\d+\.\d+\.\d+",
    "number": r"\d+",
    "port": r"\d{4,5}",
    "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
    "uid": r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
}
PLACEHOLDER = re.compile(rf"<({'|'.join(PLACEHOLDERS)})>")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")

Version = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Step:
    session: str
    number: int
    command: str
    expected: str
    status: int = 0
    since: Version = (1, 0)
    until: Version = (1, 999)
    open: str = ""
    """Why it is known not to go this way."""

    @property
    def id(self) -> str:
        return f"{self.session}-{self.number:02} {self.command[:60]}"

    def is_for(self, version: Version) -> bool:
        return self.since <= version <= self.until


def read_session(path: Path) -> list[Step]:
    return [_step(path.stem, number, block) for number, block in enumerate(_blocks(path.read_text()), 1)]


def _blocks(text: str) -> Iterator[list[str]]:
    """Each command with the directives before it and the lines after it."""
    block: list[str] = []
    for line in text.splitlines():
        begins = line.startswith("$ ") and any(known.startswith("$ ") for known in block)
        if begins or (line.startswith("#") and block and not block[-1].startswith("#")):
            yield block
            block = []
        if line.strip() and not line.startswith("# "):
            block.append(line)
    if block:
        yield block


def _step(session: str, number: int, block: list[str]) -> Step:
    directives = dict(line[1:].partition(" ")[::2] for line in block if line.startswith("#"))
    command = next(line[2:] for line in block if line.startswith("$ "))
    printed = [line for line in block if not line.startswith(("#", "$ "))]
    status = int(printed.pop()[1:-1]) if printed and re.fullmatch(r"\[\d+\]", printed[-1]) else 0
    return Step(
        session,
        number,
        command,
        "\n".join(printed),
        status,
        _version(directives.get("since", "1.0")),
        _version(directives.get("until", "1.999")),
        directives.get("open", ""),
    )


def _version(text: str) -> Version:
    major, minor = text.split(".")
    return int(major), int(minor)


# -- comparing -----------------------------------------------------------------------------------------


def tidied(text: str) -> str:
    lines = (re.sub(r"\s{2,}|\t", "  ", line.strip()) for line in COLOURS.sub("", text).splitlines())
    return "".join(f"{line}\n" for line in lines if line)


def shows(expected: str, actual: str) -> bool:
    """Follows all ways through the expected lines at once, so that many `...` cost nothing."""
    wanted, lines = tidied(expected).splitlines(), tidied(actual).splitlines()
    places = _skipping(wanted, {0})
    for line in lines:
        stay = {place for place in places if place < len(wanted) and wanted[place] == "..."}
        moved = {place + 1 for place in places if place < len(wanted) and _is_line(wanted[place], line)}
        places = _skipping(wanted, stay | moved)
    return len(wanted) in places


def _skipping(wanted: list[str], places: set[int]) -> set[int]:
    """The places, and those behind lines that may be missing."""
    reached = set(places)
    for place in range(len(wanted)):
        if place in reached and (wanted[place] == "..." or wanted[place].startswith("?")):
            reached.add(place + 1)
    return reached


def _is_line(wanted: str, line: str) -> bool:
    return wanted != "..." and re.fullmatch(_line_pattern(wanted.removeprefix("?").strip()), line) is not None


@cache
def _line_pattern(line: str) -> str:
    literals = PLACEHOLDER.split(line)
    names = [PLACEHOLDERS[name] for name in literals[1::2]] + [""]
    return "".join(re.escape(text) + name for text, name in zip(literals[::2], names, strict=True))


# -- running -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shown:
    text: str
    status: int


class Kubectl:
    """One kubectl talking to one server, with a home of its own."""

    def __init__(self, program: str, api_server: ApiServer, home: Path) -> None:
        self.api_server = api_server
        self._program = program
        self._environment = {**os.environ, "HOME": str(home), "KUBECONFIG": str(api_server.kubeconfig)}

    @property
    def version(self) -> Version:
        return version_of(self._program)

    def start(self, command: str) -> subprocess.Popen[str]:
        """`NAME=value` may stand before the command."""
        words = shlex.split(command)
        environment = dict(self._environment)
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            environment[name] = value
        assert words[0] == "kubectl", command
        return subprocess.Popen(
            [self._program, *words[1:]],
            env=environment,
            cwd=FOLDER,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, command: str) -> Shown:
        with self.start(command) as process:
            try:
                text, _ = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                text = f"{process.communicate()[0]}\n(still running after {PATIENCE} seconds)"
        return Shown(text, process.returncode)


@cache
def version_of(program: str) -> Version:
    told = subprocess.check_output([program, "version", "--client", "-o", "json"], stderr=subprocess.DEVNULL)
    client = json.loads(told)["clientVersion"]
    return int(client["major"]), int(re.sub(r"\D", "", client["minor"]))


class Session:
    """Runs the steps of a session in order, as far as one is asked for."""

    def __init__(self, kubectl: Kubectl, steps: list[Step]) -> None:
        self.api_server = kubectl.api_server
        self.version = kubectl.version
        self._kubectl = kubectl
        self._waiting = [step for step in steps if step.is_for(kubectl.version)]
        self._shown: dict[int, Shown] = {}

    def shown(self, wanted: Step) -> Shown:
        while wanted.number not in self._shown:
            step = self._waiting.pop(0)
            self._shown[step.number] = self._kubectl.run(step.command)
        return self._shown[wanted.number]
