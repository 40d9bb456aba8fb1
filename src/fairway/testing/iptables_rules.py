"""The matches and targets of iptables that our rules use, carried out for one packet.

Rules are read as text, the way `iptables-save` prints them. An option that isn't known is an error, never a
guess.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from fairway.kernel.ipset import Entry
from fairway.testing.ip_sets import within
from fairway.testing.tracing import UnknownRule
from fairway.testing.walking import ACCEPTED, GO_ON, Next, NoMatch, Passage, Step

_VERDICTS = {
    "ACCEPT": ACCEPTED,
    "DROP": Next(Step.DROP),
    "RETURN": Next(Step.RETURN),
    "REJECT": Next(Step.REJECT),
}
# Options that say nothing about a packet by themselves, and how many words follow them.
_SILENT = {"-m": 1, "--comment": 1, "--mode": 1, "--seconds": 1, "--reap": 0, "--mask": 1, "--rsource": 0}


def carry_out(rule: str, passage: Passage) -> Next:
    """Change the passage as the rule says; raises `NoMatch` if the rule doesn't apply."""
    words = list(_words(rule))
    while words:
        option = words.pop(0)
        if option in ("-j", "-g"):
            return _target(option, words, passage)
        inverted = option == "!"
        if inverted:
            option = words.pop(0)
        if option in _SILENT:
            del words[: _SILENT[option]]
        elif _matches(option, words, passage, rule) == inverted:
            raise NoMatch
    return GO_ON


@lru_cache(maxsize=1 << 16)
def _words(rule: str) -> tuple[str, ...]:
    return tuple(shlex.split(rule))


def _matches(option: str, words: list[str], passage: Passage, rule: str) -> bool:
    if option in ("--rcheck", "--set"):
        return _recently(option, words, passage)
    if option == "--match-set":
        return _entry(words.pop(0), words.pop(0), passage) is not None
    if option not in _MATCHES:
        raise UnknownRule(f"{option} in: {rule}")
    return _MATCHES[option](words.pop(0), passage)


def _recently(option: str, words: list[str], passage: Passage) -> bool:
    """`--rcheck` asks whether a client was here; `--set` notes that it was."""
    name = words[words.index("--name") + 1]
    del words[words.index("--name") : words.index("--name") + 2]
    key = (str(passage.packet.family), name)
    if option == "--rcheck":
        return passage.packet.source in passage.memory.get(key, {})
    passage.memory.setdefault(key, {})[passage.packet.source] = ""
    return True


def _entry(name: str, sides: str, passage: Passage) -> Entry | None:
    """What a set has for this packet."""
    if name not in passage.sets:
        raise UnknownRule(f"there is no set {name}")
    return passage.sets[name].find(passage.packet, sides)


def _by_chance(text: str, passage: Passage) -> bool:
    chance = Fraction(text)
    return passage.chooser.choose([chance, 1 - chance]) == 0


def _is_marked(text: str, passage: Passage) -> bool:
    value, mask = _value_and_mask(text)
    return passage.mark & mask == value


def _is_type(address: str, kind: str, passage: Passage) -> bool:
    if kind != "LOCAL":
        raise UnknownRule(f"address type {kind}")
    return address in passage.local


def _is_in_state(text: str, passage: Passage) -> bool:
    """Of a connection that begins with this packet."""
    states = {"NEW", "DNAT"} if passage.translated else {"NEW"}
    return bool(states & set(text.split(",")))


def _came_by(text: str, passage: Passage) -> bool:
    if text.endswith("+"):
        return passage.packet.interface.startswith(text[:-1])
    return passage.packet.interface == text


def _leaves_by(text: str, passage: Passage) -> bool:
    """Which of its other interfaces a node routes to is not known here."""
    if text != "lo":
        raise UnknownRule(f"outgoing interface {text}")
    return passage.packet.destination in passage.local


_MATCHES: dict[str, Callable[[str, Passage], bool]] = {
    "-s": lambda text, passage: within(passage.packet.source, text),
    "-d": lambda text, passage: within(passage.packet.destination, text),
    "-p": lambda text, passage: passage.packet.protocol == text,
    "-i": _came_by,
    "-o": _leaves_by,
    "--dport": lambda text, passage: passage.packet.port == int(text),
    "--mark": _is_marked,
    "--ctstate": _is_in_state,
    "--dst-type": lambda text, passage: _is_type(passage.packet.destination, text, passage),
    "--src-type": lambda text, passage: _is_type(passage.packet.source, text, passage),
    "--probability": _by_chance,
}


def _target(option: str, words: list[str], passage: Passage) -> Next:
    name, options = words[0], words[1:]
    match name, options:
        case "MARK", ["--set-xmark", text]:
            value, mask = _value_and_mask(text)
            passage.mark = (passage.mark & ~mask) ^ value
            return GO_ON
        case "MARK", ["--or-mark", text]:
            passage.mark |= int(text, 0)
            return GO_ON
        case "MARK", ["--xor-mark", text]:
            passage.mark ^= int(text, 0)
            return GO_ON
        case "SET", ["--map-set", text, sides, "--map-mark"]:
            entry = _entry(text, sides, passage)
            passage.mark = entry.mark if entry else passage.mark
            return GO_ON
        case "MASQUERADE", [] | ["--random-fully"]:
            passage.masqueraded = True
            return ACCEPTED
        case "DNAT", ["--to-destination", text]:
            address, port = text.rsplit(":", 1)
            passage.packet = passage.packet.to(address.strip("[]"), int(port))
            passage.translated = True
            return ACCEPTED
        case "REJECT", ["--reject-with", "icmp-port-unreachable" | "icmp6-port-unreachable" | "tcp-reset"]:
            return _VERDICTS[name]
        case _, []:
            return _VERDICTS.get(name) or Next(Step.JUMP if option == "-j" else Step.GOTO, name)
    raise UnknownRule(f"target {' '.join(words)}")


def _value_and_mask(text: str) -> tuple[int, int]:
    value, _, mask = text.partition("/")
    return int(value, 0), int(mask or "0xffffffff", 0)
