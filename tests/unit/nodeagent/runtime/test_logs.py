from datetime import UTC, datetime
from pathlib import Path

from fairway.nodeagent.runtime.logs import LogOptions, Rendering, last_lines, log_time, read

LINES = [
    b"2023-11-14T22:13:20.000000001Z stdout F one",
    b"2023-11-14T22:13:21.000000000Z stderr F two words",
    b"2023-11-14T22:13:22.000000000Z stdout P thr",
    b"2023-11-14T22:13:22.500000000Z stdout F ee",
    b"2023-11-14T22:13:23.000000000Z stdout P no newline",
]


def rendered(options: LogOptions, lines: list[bytes] = LINES) -> bytes:
    return Rendering(options).render(lines)


def test_the_reader_sees_exactly_what_the_container_wrote() -> None:
    assert rendered(LogOptions()) == b"one\ntwo words\nthree\nno newline"


def test_times_stand_before_lines_not_before_their_pieces() -> None:
    assert rendered(LogOptions(timestamps=True)).splitlines()[2] == b"2023-11-14T22:13:22.000000000Z three"


def test_only_lines_from_a_time_on() -> None:
    since = log_time(datetime(2023, 11, 14, 22, 13, 22, tzinfo=UTC))
    assert rendered(LogOptions(since=since)) == b"three\nno newline"


def test_no_more_bytes_than_the_limit() -> None:
    rendering = Rendering(LogOptions(limit_bytes=5))
    assert rendering.render(LINES) == b"one\nt"
    assert rendering.exhausted


def test_the_tail_counts_lines_with_their_pieces_as_one() -> None:
    assert rendered(LogOptions(), last_lines(LINES, 2)) == b"three\nno newline"
    assert last_lines(LINES, 0) == []
    assert last_lines(LINES, 99) == LINES


async def test_an_older_file_is_read_before_the_current_one(tmp_path: Path) -> None:
    (tmp_path / "log.1").write_bytes(LINES[0] + b"\n")
    (tmp_path / "log").write_bytes(LINES[1] + b"\n")
    assert (
        b"".join([chunk async for chunk in read(tmp_path, LogOptions(), lambda: True)]) == b"one\ntwo words\n"
    )


async def test_a_container_that_has_written_nothing_has_an_empty_log(tmp_path: Path) -> None:
    assert b"".join([chunk async for chunk in read(tmp_path, LogOptions(), lambda: True)]) == b""


async def test_following_gives_what_comes_later_and_ends_with_the_container(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(LINES[0] + b"\n")
    ends = iter([False, False, True, True])

    def ended() -> bool:
        log.write_bytes(b"\n".join(LINES[:2]) + b"\n")
        return next(ends)

    chunks = [chunk async for chunk in read(tmp_path, LogOptions(follow=True), ended)]
    assert b"".join(chunks) == b"one\ntwo words\n"
