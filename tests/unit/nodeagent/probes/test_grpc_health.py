import struct

import pytest

from fairway.nodeagent.probes.grpc_health import (
    ACK,
    DATA,
    END_STREAM,
    HEADERS,
    PADDED,
    PING,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    Answer,
    NotGrpc,
    frame,
    request,
)


def message(status: int) -> bytes:
    body = bytes([8, status]) if status else b""
    return struct.pack(">BI", 0, len(body)) + body


@pytest.mark.parametrize(("number", "name"), [(0, "UNKNOWN"), (1, "SERVING"), (2, "NOT_SERVING")])
def test_the_message_says_the_status(number: int, name: str) -> None:
    answer = Answer()
    stream = frame(SETTINGS, 0, 0, b"") + frame(HEADERS, 4, 1, b"\x88") + frame(DATA, 0, 1, message(number))
    for byte in stream + frame(HEADERS, 4 | END_STREAM, 1, b"\x40"):
        answer.receive(bytes([byte]))
    assert (answer.ended, answer.status) == (True, name)
    assert answer.replies == [frame(SETTINGS, ACK, 0, b"")]


def test_padding_is_taken_off_and_pings_are_answered() -> None:
    answer = Answer()
    answer.receive(frame(PING, 0, 0, b"12345678"))
    answer.receive(frame(DATA, PADDED | END_STREAM, 1, b"\x03" + message(1) + b"\0\0\0"))
    assert answer.status == "SERVING"
    assert answer.replies == [frame(PING, ACK, 0, b"12345678")]


@pytest.mark.parametrize(
    "refusal",
    [frame(HEADERS, 4 | END_STREAM, 1, b""), frame(RST_STREAM, 0, 1, bytes(4))],
    ids=["trailers", "reset"],
)
def test_a_refused_call_has_no_status(refusal: bytes) -> None:
    answer = Answer()
    answer.receive(refusal)
    assert (answer.ended, answer.status) == (True, "")


def test_what_is_no_frame_is_refused() -> None:
    with pytest.raises(NotGrpc):
        Answer().receive(b"HTTP/1.1 400 Bad Request\r\n")


def test_the_request_names_the_service() -> None:
    sent = request("10.0.0.1:50051", "s" * 200)
    assert sent.startswith(PREFACE)
    assert sent.endswith(b"\x0a\xc8\x01" + b"s" * 200)
