"""The grammar of Corefiles."""

from __future__ import annotations

import pytest

from fairway.dns.corefile import Block, CorefileError, parse


def only(text: str, **environ: str) -> Block:
    (block,) = parse(text, environ=environ)
    return block


def test_a_block_has_zones_and_directives_with_words_and_lines() -> None:
    block = only(".:53 {\n    forward . 8.8.8.8 {\n        max_fails 0\n    }\n}\n")
    (forward,) = block.directives
    assert block.keys == (".:53",)
    assert (forward.name, forward.args, forward.line) == ("forward", (".", "8.8.8.8"), 2)
    assert [(line.name, line.args) for line in forward.body] == [("max_fails", ("0",))]


def test_zones_go_on_over_lines_after_a_comma() -> None:
    block = only("a.test:53,\nb.test:53, c.test\n{\n errors\n}")
    assert block.keys == ("a.test:53", "b.test:53", "c.test")


def test_comments_and_quotes_and_blank_lines() -> None:
    block = only('# first\n. { # here\n  template IN "A B" "say \\"hi\\"" # there\n\n  log\n}')
    assert [d.args for d in block.directives] == [("IN", "A B", 'say "hi"'), ()]


def test_a_quoted_word_may_go_over_lines_and_the_count_stays_right() -> None:
    block = only('. {\n  a "x\ny"\n  b\n}')
    assert [(d.name, d.args, d.line) for d in block.directives] == [("a", ("x\ny",), 2), ("b", (), 4)]


@pytest.mark.parametrize("form", ["{$TTL}", "{%TTL%}"])
def test_the_environment_is_put_in(form: str) -> None:
    assert only(f". {{\n ttl {form}s\n}}", TTL="17").directives[0].args == ("17s",)
    assert only(f". {{\n ttl {form}s\n}}").directives[0].args == ("s",)


def test_snippets_are_put_in_wherever_they_are_imported_even_twice() -> None:
    text = "(one) {\n errors\n}\n. {\n import one\n import one\n log\n}\n"
    assert [d.name for d in only(text).directives] == ["errors", "errors", "log"]


def test_snippets_may_import_snippets_and_stand_below() -> None:
    text = ". {\n import outer\n}\n(outer) {\n import inner\n log\n}\n(inner) {\n errors\n}\n"
    assert [d.name for d in only(text).directives] == ["errors", "log"]


def test_files_are_imported_as_the_reader_finds_them() -> None:
    def read(pattern: str, importer: str) -> list[tuple[str, str]]:
        assert (pattern, importer) == ("*.conf", "Corefile")
        return [("a.conf", "errors\n"), ("b.conf", "log\n")]

    (block,) = parse(". {\n import *.conf\n}", read=read)
    assert [(d.name, d.file, d.line) for d in block.directives] == [
        ("errors", "a.conf", 1),
        ("log", "b.conf", 1),
    ]


def test_files_outside_of_blocks_may_bring_blocks_and_snippets() -> None:
    files = {"more": "(s) {\n log\n}\nother.test {\n import s\n}\n"}
    found = parse("import more\n. {\n import s\n}", read=lambda pattern, _: [("more", files[pattern])])
    assert [(b.keys, [d.name for d in b.directives]) for b in found] == [
        (("other.test",), ["log"]),
        ((".",), ["log"]),
    ]


def test_braces_within_quotes_are_words() -> None:
    assert only('. {\n a "{" "}"\n}').directives[0].args == ("{", "}")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (". {\n errors\n", 2, "Unexpected EOF"),
        (". {\n}\n}\n", 3, "'}'"),
        ("{\n errors\n}\n", 1, "expecting a zone"),
        (". {\n import nowhere\n}", 2, "nowhere"),
        (". {\n import\n}", 2, "import"),
        (". {\n import a b\n}", 2, "import"),
        ('. {\n a "b\n}', 2, "EOF"),
        ("(a) {\n import a\n}\n. {\n import a\n}", 2, "within itself"),
        (". {\n {\n }\n}", 2, "'{'"),
    ],
)
def test_errors_name_file_line_and_word(text: str, line: int, words: str) -> None:
    with pytest.raises(CorefileError) as error:
        parse(text)
    assert str(error.value).startswith(f"Corefile:{line} - Error during parsing: ")
    assert words in str(error.value)
