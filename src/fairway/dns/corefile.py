"""The Corefile: its grammar, read into server blocks and directives. What directives mean is the plugins'
affair.

Words are separated by blanks, `"…"` keeps blanks and newlines, `#` begins a comment, `{$NAME}` and
`{%NAME%}` stand for the environment, `(name) { … }` is a snippet, `import` puts in a snippet or files.
Errors name file, line and word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

_ENVIRONMENT = re.compile(r"\{\$(\w+)\}|\{%(\w+)%\}")
_SNIPPET = re.compile(r"\((.*)\)")
_MAX_IMPORTS = 10

Read = Callable[[str, str], Sequence[tuple[str, str]]]
"""Finds imported files: the pattern, the importing file → their names and texts."""


class CorefileError(ValueError):
    """A Corefile that can't be served, told as CoreDNS tells it: `FILE:LINE - Error during parsing: …`."""

    def __init__(self, file: str, line: int, message: str) -> None:
        super().__init__(f"{file}:{line} - Error during parsing: {message}")


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    file: str
    line: int
    quoted: bool = False
    copy: int = 0

    def error(self, message: str) -> CorefileError:
        return CorefileError(self.file, self.line, message)

    def same_line(self, other: Word) -> bool:
        return (self.line, self.copy, self.file) == (other.line, other.copy, other.file)

    def opens(self) -> bool:
        return self.text == "{" and not self.quoted

    def closes(self) -> bool:
        return self.text == "}" and not self.quoted


@dataclass(frozen=True, slots=True)
class Directive:
    """One line: its first word, the others, and the lines in braces behind it."""

    name: str
    args: tuple[str, ...]
    body: tuple[Directive, ...]
    file: str
    line: int
    has_body: bool = False

    def error(self, message: str) -> CorefileError:
        return CorefileError(self.file, self.line, message)

    def wrong_arguments(self) -> CorefileError:
        found = f"'{self.args[-1]}'" if self.args else f"after '{self.name}'"
        return self.error(f"Wrong argument count or unexpected line ending {found}")

    def one(self) -> str:
        """The only argument."""
        if len(self.args) != 1:
            raise self.wrong_arguments()
        return self.args[0]

    def none(self) -> None:
        if self.args:
            raise self.wrong_arguments()

    def unknown_property(self, plugin: str) -> CorefileError:
        return self.error(f"plugin/{plugin}: unknown property '{self.name}'")


@dataclass(frozen=True, slots=True)
class Block:
    """One server block: the zones it is for, and its directives in the order they are written."""

    keys: tuple[str, ...]
    directives: tuple[Directive, ...]
    file: str
    line: int

    def error(self, message: str) -> CorefileError:
        return CorefileError(self.file, self.line, message)


def no_files(pattern: str, importer: str) -> Sequence[tuple[str, str]]:
    return ()


def parse(
    text: str, file: str = "Corefile", environ: Mapping[str, str] | None = None, read: Read = no_files
) -> tuple[Block, ...]:
    """The server blocks of a Corefile. `read` is asked for imported files; the environment is passed in."""
    return _Parser(environ or {}, read).blocks(text, file)


# ---- words ---------------------------------------------------------------------------------------------


def split(text: str, file: str, environ: Mapping[str, str]) -> Iterator[Word]:
    at, line = 0, 1
    while at < len(text):
        char = text[at]
        if char == "\n":
            line += 1
            at += 1
        elif char.isspace() or char == "\ufeff":
            at += 1
        elif char == "#":
            at = text.find("\n", at) % (len(text) + 1)
        else:
            word, after = _quoted(text, at, line, file) if char == '"' else _bare(text, at)
            yield Word(_expand(word, environ), file, line, char == '"')
            line += text.count("\n", at, after)
            at = after


def _bare(text: str, at: int) -> tuple[str, int]:
    end = at
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[at:end], end


def _quoted(text: str, at: int, line: int, file: str) -> tuple[str, int]:
    out, start = "", at
    at += 1
    while at < len(text):
        if text[at] == "\\" and text[at + 1 : at + 2] == '"':
            out += '"'
            at += 2
        elif text[at] == '"':
            return out, at + 1
        else:
            out += text[at]
            at += 1
    raise CorefileError(file, line, f"Unexpected EOF in {text[start : start + 20]!r}")


def _expand(word: str, environ: Mapping[str, str]) -> str:
    return _ENVIRONMENT.sub(lambda match: environ.get(match[1] or match[2], ""), word)


# ---- lines and blocks ----------------------------------------------------------------------------------


@dataclass
class _Parser:
    environ: Mapping[str, str]
    read: Read
    snippets: dict[str, list[Word]] = field(default_factory=dict)
    imports: int = 0

    def blocks(self, text: str, file: str) -> tuple[Block, ...]:
        words = self._without_snippets(list(split(text, file, self.environ)))
        # Files may bring snippets of their own, so those imported outside blocks come in first.
        words = self._expand(words, 0, outside=True)
        words = self._expand(words, 0)
        out, at = [], 0
        while at < len(words):
            keys, at = _keys(words, at)
            if at < len(words) and words[at].opens():
                end = _closing(words, at)
                inner, at = words[at + 1 : end], end + 1
            else:
                inner, at = words[at:], len(words)
            out.append(Block(tuple(k.text for k in keys), tuple(_lines(inner)), keys[0].file, keys[0].line))
        return tuple(out)

    def _without_snippets(self, words: list[Word]) -> list[Word]:
        out: list[Word] = []
        at = depth = 0
        while at < len(words):
            word = words[at]
            depth += word.opens() - word.closes()
            name = _SNIPPET.fullmatch(word.text)
            if name and depth == 0 and at + 1 < len(words) and words[at + 1].opens():
                end = _closing(words, at + 1)
                self.snippets[name[1]] = words[at + 2 : end]
                at = end + 1
            else:
                out.append(word)
                at += 1
        return out

    def _expand(self, words: list[Word], nested: int, outside: bool = False) -> list[Word]:
        """Puts in what `import` names, wherever a line begins with it (or just outside of blocks)."""
        out: list[Word] = []
        at = depth = 0
        while at < len(words):
            word = words[at]
            depth += word.opens() - word.closes()
            if word.text == "import" and _begins_line(words, at) and not (outside and depth):
                args = _rest_of_line(words, at)
                if len(args) != 1:
                    raise word.error("Wrong argument count or unexpected line ending after 'import'")
                out += self._import(args[0], nested, outside)
                at += 2
            else:
                out.append(word)
                at += 1
        return out

    def _import(self, word: Word, nested: int, outside: bool) -> list[Word]:
        if nested >= _MAX_IMPORTS:
            raise word.error(f"'{word.text}' is imported within itself")
        self.imports += 1
        if word.text in self.snippets:
            found = self.snippets[word.text]
        else:
            files = self.read(word.text, word.file)
            if not files and "*" not in word.text:
                raise word.error(f"File to import not found: {word.text}")
            found = [w for name, text in files for w in split(text, name, self.environ)]
        # Numbered, so that the end of one import never seems to share a line with what follows.
        numbered = [replace(w, copy=self.imports) for w in found]
        if outside:
            numbered = self._without_snippets(numbered)
        return self._expand(numbered, nested + 1, outside)


def _keys(words: list[Word], at: int) -> tuple[list[Word], int]:
    """The zones before a block: one line, and further ones as long as a comma says so."""
    keys: list[Word] = []
    more = True
    while at < len(words) and not words[at].opens():
        word = words[at]
        if keys and not more and not word.same_line(words[at - 1]):
            break
        if word.closes():
            raise word.error("Unexpected '}' because no matching opening brace")
        more = word.text.endswith(",")
        for text in word.text.split(","):
            keys += [replace(word, text=text)] if text else []
        at += 1
    if not keys:
        raise words[min(at, len(words) - 1)].error("Unexpected '{', expecting a zone")
    return keys, at


def _begins_line(words: list[Word], at: int) -> bool:
    return at == 0 or words[at - 1].opens() or not words[at].same_line(words[at - 1])


def _rest_of_line(words: list[Word], at: int) -> list[Word]:
    end = at + 1
    while end < len(words) and words[end].same_line(words[at]):
        if words[end].opens() or words[end].closes():
            break
        end += 1
    return words[at + 1 : end]


def _closing(words: list[Word], at: int) -> int:
    depth = 0
    for index in range(at, len(words)):
        depth += words[index].opens() - words[index].closes()
        if depth == 0:
            return index
    raise words[-1].error("Unexpected EOF, expecting '}'")


def _lines(words: list[Word]) -> Iterator[Directive]:
    at = 0
    while at < len(words):
        first = words[at]
        if first.opens() or first.closes():
            raise first.error(f"Unexpected '{first.text}', expecting a directive")
        args = _rest_of_line(words, at)
        at += 1 + len(args)
        body: list[Word] = []
        has_body = at < len(words) and words[at].opens()
        if has_body:
            end = _closing(words, at)
            body, at = words[at + 1 : end], end + 1
        inner = tuple(_lines(body))
        yield Directive(first.text, tuple(a.text for a in args), inner, first.file, first.line, has_body)
