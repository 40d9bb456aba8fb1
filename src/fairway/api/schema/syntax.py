"""Says what is wrong with malformed JSON, in the words of Go's encoding/json.

Only reached when a parser has already refused the document: it finds the same fault again and names it.
"""

from __future__ import annotations

import json
from typing import Final

_END: Final = "unexpected end of JSON input"
_SPACE: Final = b" \t\r\n"
_DIGITS: Final = b"0123456789"
_HEX: Final = b"0123456789abcdefABCDEF"
_WORDS: Final = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_DEEPEST: Final = 10_000
# Python refuses to read integers of more than 4,300 digits, for it takes quadratic time.
_LONGEST_INTEGER: Final = 400


class BadSyntax(ValueError):
    """The document is no JSON; the message is Go's."""


def explain(document: bytes) -> str:
    """What Go says of the document, or "" if it finds no fault."""
    scanner = _Scanner(document)
    try:
        scanner.value(0)
        scanner.skip_space()
        if scanner.at < len(document):
            scanner.wrong("after top-level value")
    except BadSyntax as bad:
        return str(bad)
    return ""


def quote(byte: int) -> str:
    """A character as Go quotes it in a message."""
    character = chr(byte)
    if character in "'\"":
        return {"'": r"'\''", '"': "'\"'"}[character]
    escapes = {
        "\a": r"\a",
        "\b": r"\b",
        "\f": r"\f",
        "\n": r"\n",
        "\r": r"\r",
        "\t": r"\t",
        "\v": r"\v",
        "\\": r"\\",
    }
    if character in escapes:
        return f"'{escapes[character]}'"
    return (
        f"'{character}'"
        if character.isprintable()
        else f"'\\x{byte:02x}'"
        if byte < 128
        else f"'\\u{byte:04x}'"
    )


class _Scanner:
    def __init__(self, document: bytes) -> None:
        self.document = document
        self.at = 0

    def peek(self) -> int:
        if self.at >= len(self.document):
            raise BadSyntax(_END)
        return self.document[self.at]

    def wrong(self, where: str) -> None:
        raise BadSyntax(f"invalid character {quote(self.peek())} {where}")

    def skip_space(self) -> None:
        while self.at < len(self.document) and self.document[self.at] in _SPACE:
            self.at += 1

    def next(self) -> int:
        self.skip_space()
        return self.peek()

    def value(self, depth: int) -> None:
        first = self.next()
        if depth > _DEEPEST:
            raise BadSyntax("exceeded max depth")
        if first == ord("{"):
            self.members(depth)
        elif first == ord("["):
            self.items(depth)
        elif first == ord('"'):
            self.string()
        elif first in _WORDS:
            self.word(_WORDS[first])
        elif first == ord("-") or first in _DIGITS:
            self.number()
        else:
            self.wrong("looking for beginning of value")

    def members(self, depth: int) -> None:
        self.at += 1
        if self.next() == ord("}"):
            self.at += 1
            return
        while True:
            if self.next() != ord('"'):
                self.wrong("looking for beginning of object key string")
            self.string()
            if self.next() != ord(":"):
                self.wrong("after object key")
            self.at += 1
            self.value(depth + 1)
            if self.closed(ord("}"), "after object key:value pair"):
                return

    def items(self, depth: int) -> None:
        self.at += 1
        if self.next() == ord("]"):
            self.at += 1
            return
        while True:
            self.value(depth + 1)
            if self.closed(ord("]"), "after array element"):
                return

    def closed(self, closing: int, where: str) -> bool:
        """Steps over the closing bracket (True) or the comma."""
        if self.next() not in (closing, ord(",")):
            self.wrong(where)
        self.at += 1
        return self.document[self.at - 1] == closing

    def string(self) -> None:
        self.at += 1
        while (byte := self.peek()) != ord('"'):
            if byte < 0x20:
                self.wrong("in string literal")
            self.at += 1
            if byte == ord("\\"):
                self.escape()
        self.at += 1

    def escape(self) -> None:
        if self.peek() not in b'bfnrt\\/"u':
            self.wrong("in string escape code")
        self.at += 1
        if self.document[self.at - 1] == ord("u"):
            for _ in range(4):
                if self.peek() not in _HEX:
                    self.wrong(r"in \u hexadecimal character escape")
                self.at += 1

    def word(self, word: bytes) -> None:
        for expected in word:
            if self.peek() != expected:
                self.wrong(f"in literal {word.decode()} (expecting {quote(expected)})")
            self.at += 1

    def number(self) -> None:
        if self.peek() == ord("-"):
            self.at += 1
            if self.peek() not in _DIGITS:
                self.wrong("in numeric literal")
        if self.peek() == ord("0"):
            self.at += 1
        else:
            self.digits()
        if self.document[self.at : self.at + 1] == b".":
            self.at += 1
            self.some_digits("after decimal point in numeric literal")
        if self.document[self.at : self.at + 1] in (b"e", b"E"):
            self.at += 1
            if self.peek() in b"+-":
                self.at += 1
            self.some_digits("in exponent of numeric literal")

    def some_digits(self, where: str) -> None:
        if self.peek() not in _DIGITS:
            self.wrong(where)
        self.digits()

    def digits(self) -> None:
        while self.at < len(self.document) and self.document[self.at] in _DIGITS:
            self.at += 1


def lenient(document: bytes) -> object:
    """Reads what Go accepts and strict parsers don't: broken UTF-8 and lone surrogates become U+FFFD."""
    loaded = json.loads(document.decode("utf-8", "replace"), parse_int=integer)
    text = json.dumps(loaded, ensure_ascii=False)
    return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), parse_int=integer)


def integer(text: str) -> int | float:
    """A whole number; one too long for any type of ours becomes a float, as it would be in JavaScript."""
    return int(text) if len(text) <= _LONGEST_INTEGER else float(text)
