"""The statements of the nft language that our rules use, carried out for one packet.

Rules are read as text, the same that goes to the kernel, so that a wrong rule shows as a wrong way. A word
that isn't known is an error, never a guess.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Protocol

from fairway.testing.nft_expressions import Words, concatenation, equal
from fairway.testing.tracing import UnknownRule
from fairway.testing.walking import ACCEPTED, GO_ON, Next, NoMatch, Passage, Step

_CHANGES = ("update", "add", "delete")


_PLAIN = {"drop": Next(Step.DROP), "accept": ACCEPTED, "return": Next(Step.RETURN)}


class NamedSet(Protocol):
    @property
    def definition(self) -> str: ...
    @property
    def elements(self) -> Mapping[str, str]: ...


class Sets:
    """The sets and maps of a table, and what packets have added to them."""

    def __init__(
        self,
        family: str,
        sets: Mapping[str, NamedSet],
        written: MutableMapping[tuple[str, str], dict[str, str]],
    ) -> None:
        self._family, self._sets, self._written = family, sets, written

    def find(self, name: str, key: str) -> str:
        """The value of a key, or for a set, nothing; the rule is left if it isn't there."""
        known = self._sets.get(name)
        if known is None:
            raise UnknownRule(f"there is no set @{name}")
        elements = {**known.elements, **self._written.get((self._family, name), {})}
        if key in elements:
            return elements[key]
        if "interval" in known.definition:
            for wanted in elements:
                if equal(key, wanted):
                    return elements[wanted]
        raise NoMatch

    def write(self, name: str, key: str, value: str) -> None:
        """What exists is refreshed, never overwritten."""
        self._written.setdefault((self._family, name), {}).setdefault(key, value)

    def remove(self, name: str, key: str) -> None:
        if self._written.get((self._family, name), {}).pop(key, None) is None:
            raise NoMatch


def carry_out(rule: str, passage: Passage, sets: Sets) -> Next:
    """Change the passage as the rule says; raises `NoMatch` if the rule doesn't apply."""
    words, after = Words(rule), GO_ON
    while words:
        if after is not GO_ON:
            raise UnknownRule(f"words after the verdict: {rule}")
        after = _statement(words, passage, sets)
    return after


def _statement(words: Words, passage: Passage, sets: Sets) -> Next:
    head = words.next
    if head in _PLAIN:
        return _PLAIN[words.take()]
    if head in ("jump", "goto"):
        return Next(Step(words.take()), words.take())
    if head == "reject":
        return _reject(words, passage)
    if head == "masquerade":
        return _masquerade(words, passage)
    if head == "dnat":
        return _translate(words, passage, sets)
    if head in _CHANGES:
        return _change(words, passage, sets)
    for field in ("mark", "priority"):
        if words.accept("meta", field, "set"):
            return _assign(field, words, passage, sets)
    if words.accept("ct", "mark", "set"):
        passage.connection_mark = int(_looked_up(words, passage, sets), 0)
        return GO_ON
    return _match(words, passage, sets)


def _reject(words: Words, passage: Passage) -> Next:
    for word in ("reject", "with"):
        words.expect(word)
    kind, how = words.take(), words.take()
    if how not in ("reset", "port-unreachable"):
        raise UnknownRule(words.rule)
    if kind == "tcp" and passage.packet.protocol != "tcp":
        raise NoMatch
    return Next(Step.REJECT)


def _masquerade(words: Words, passage: Passage) -> Next:
    words.expect("masquerade")
    words.accept("fully-random")
    passage.masqueraded = True
    return ACCEPTED


def _translate(words: Words, passage: Passage, sets: Sets) -> Next:
    words.take()
    words.take()  # the family, which is the table's
    words.expect("to")
    address, port = _looked_up(words, passage, sets).split(" . ")
    passage.packet, passage.translated = passage.packet.to(address, int(port)), True
    return ACCEPTED


def _assign(field: str, words: Words, passage: Passage, sets: Sets) -> Next:
    if words.accept("none"):
        passage.priority = "0:0"
    elif field == "priority":
        passage.priority = _looked_up(words, passage, sets)
    else:
        passage.mark = int(_looked_up(words, passage, sets), 0)
    return GO_ON


def _looked_up(words: Words, passage: Passage, sets: Sets) -> str:
    """A value: an expression itself, or what a map has for it."""
    value = concatenation(words, passage)
    return sets.find(words.take()[1:], value) if words.accept("map") else value


def _change(words: Words, passage: Passage, sets: Sets) -> Next:
    """`update @NAME { KEY timeout 60s : VALUE }`"""
    how, name = words.take(), words.take()[1:]
    words.expect("{")
    key = concatenation(words, passage)
    if words.accept("timeout"):
        words.take()
    words.expect(":")
    value = concatenation(words, passage)
    words.expect("}")
    if how == "delete":
        sets.remove(name, key)
    else:
        sets.write(name, key, value)
    return GO_ON


def _match(words: Words, passage: Passage, sets: Sets) -> Next:
    value = concatenation(words, passage)
    if words.accept("vmap"):
        return _verdict(sets.find(words.take()[1:], value))
    wanted_not = words.accept("!=")
    words.accept("==")
    if _is_one_of(value, words, sets) == wanted_not:
        raise NoMatch
    return GO_ON


def _is_one_of(value: str, words: Words, sets: Sets) -> bool:
    if words.next.startswith("@"):
        try:
            sets.find(words.take()[1:], value)
        except NoMatch:
            return False
        return True
    if not words.accept("{"):
        return equal(value, words.take())
    wanted = [words.take()]
    while words.accept(","):
        wanted.append(words.take())
    words.expect("}")
    return any(equal(value, each) for each in wanted)


def _verdict(text: str) -> Next:
    if text in _PLAIN:
        return _PLAIN[text]
    step, chain = text.split(" ")
    return Next(Step(step), chain)
