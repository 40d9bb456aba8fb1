import struct
import zlib

import pytest

from fairway.nodeagent.server import spdy
from fairway.nodeagent.server.spdy import Data, GoneAway, Opened, Replied, Reset, SpdyConnection, SpdyError
from fairway.nodeagent.server.spdy_headers import DICTIONARY, LARGEST_BLOCK


def test_the_dictionary_is_the_one_of_the_protocol() -> None:
    assert zlib.adler32(DICTIONARY) == 0xE3C6A7C2


def test_a_stream_is_opened_answered_written_to_and_ended() -> None:
    client, server = SpdyConnection(client=True), SpdyConnection()
    stream, request = client.open({"streamType": "stdin", "Port": "80"})
    assert server.receive(request) == [Opened(1, {"streamtype": "stdin", "port": "80"})]
    assert client.receive(server.reply(stream)) == [Replied(1)]
    assert server.receive(client.data(stream, b"hello")) == [Data(1, b"hello")]
    assert client.receive(server.data(stream, b"bye", ended=True)) == [Data(1, b"bye", ended=True)]


def test_header_compression_goes_on_from_frame_to_frame() -> None:
    client, server = SpdyConnection(client=True), SpdyConnection()
    sizes = []
    for number in range(3):
        stream, request = client.open({"streamtype": "data", "port": "8080", "requestid": str(number)})
        sizes.append(len(request))
        (event,) = server.receive(request)
        assert event == Opened(
            2 * number + 1, {"streamtype": "data", "port": "8080", "requestid": str(number)}
        )
        assert client.receive(server.reply(stream)) == [Replied(stream)]
    assert sizes[1] < sizes[0]


def test_frames_may_arrive_in_any_pieces() -> None:
    client, server = SpdyConnection(client=True), SpdyConnection()
    stream, data = client.open({"streamtype": "error"}, ended=True)
    data += client.data(stream + 2, b"x" * 70_000, ended=True) + client.go_away()
    events = [event for byte in data for event in server.receive(bytes([byte]))]
    assert events[0] == Opened(1, {"streamtype": "error"}, ended=True)
    pieces = [event for event in events if isinstance(event, Data)]
    assert b"".join(piece.data for piece in pieces) == b"x" * 70_000
    assert [piece.ended for piece in pieces] == [False, False, True]
    assert events[-1] == GoneAway()


def test_pings_of_the_other_side_are_answered_and_answers_to_ours_are_not() -> None:
    server = SpdyConnection()
    ping = struct.pack(">HHII", 0x8003, spdy.PING, 4, 7)
    assert server.receive(ping) == []
    assert server.replies == [ping]
    server.receive(struct.pack(">HHII", 0x8003, spdy.PING, 4, 8))
    assert server.replies == [ping]


def test_settings_windows_and_unknown_frames_are_ignored_and_resets_told() -> None:
    client, server = SpdyConnection(client=True), SpdyConnection()
    for kind in (spdy.SETTINGS, spdy.WINDOW_UPDATE, 99):
        assert server.receive(struct.pack(">HHI", 0x8003, kind, 8) + bytes(8)) == []
    assert server.receive(client.reset(5)) == [Reset(5)]


def test_nothing_to_say_is_no_frame_but_an_end_is_one() -> None:
    connection = SpdyConnection()
    assert connection.data(1, b"") == b""
    assert connection.data(1, b"", ended=True) == struct.pack(">II", 1, 1 << 24)


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">HHI", 0x8002, spdy.PING, 4) + bytes(4),
        struct.pack(">HHI", 0x8003, spdy.SYN_STREAM, 16) + bytes(16),
        struct.pack(">HHI", 0x8003, spdy.SYN_STREAM, 2) + bytes(2),
        struct.pack(">HHI", 0x8003, spdy.HEADERS, 0xFFFFFF),
        struct.pack(">HHI", 0x8003, spdy.RST_STREAM, 0),
    ],
    ids=["version", "no headers", "cut off", "too large", "empty"],
)
def test_what_is_not_spdy_is_refused(data: bytes) -> None:
    with pytest.raises(SpdyError):
        SpdyConnection().receive(data)


def test_headers_that_grow_out_of_bounds_when_unpacked_are_refused() -> None:
    client, server = SpdyConnection(client=True), SpdyConnection()
    _, bomb = client.open({"streamtype": "x" * (LARGEST_BLOCK + 1)})
    assert len(bomb) < 1000
    with pytest.raises(SpdyError, match="more than"):
        server.receive(bomb)


def test_stream_numbers_only_grow_and_belong_to_the_side_that_opens_them() -> None:
    client, other, server = SpdyConnection(client=True), SpdyConnection(), SpdyConnection()
    _, request = client.open({})
    server.receive(request)
    with pytest.raises(SpdyError):
        server.receive(SpdyConnection(client=True).open({})[1][:8] + request[8:])
    with pytest.raises(SpdyError):
        SpdyConnection().receive(other.open({})[1])
