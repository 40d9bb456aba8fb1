from fairway.nodeagent.runtime.reaper import LONGEST_LINE, Lines, timestamp

STAMP = b"T"


def test_output_is_cut_into_full_lines_however_it_arrives() -> None:
    lines = Lines(b"stdout")
    assert lines.feed(b"one\ntw", STAMP) == b"T stdout F one\n"
    assert lines.feed(b"o\n\n", STAMP) == b"T stdout F two\nT stdout F \n"


def test_a_long_line_comes_in_pieces_that_lose_nothing() -> None:
    lines, text = Lines(b"stderr"), b"x" * (2 * LONGEST_LINE + 5)
    found = (lines.feed(text, STAMP) + lines.feed(b"\n", STAMP)).splitlines()
    assert [line.split(b" ", 3)[2] for line in found] == [b"P", b"P", b"F"]
    assert b"".join(line.split(b" ", 3)[3] for line in found) == text


def test_what_never_ended_in_a_newline_is_a_piece() -> None:
    lines = Lines(b"stdout")
    assert lines.feed(b"tail", STAMP) == b""
    assert lines.finish(STAMP) == b"T stdout P tail\n"
    assert lines.finish(STAMP) == b""


def test_times_have_nanoseconds() -> None:
    assert timestamp(1_700_000_000_000_000_042) == b"2023-11-14T22:13:20.000000042Z"
