import json

import pytest
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Ping, Pong

from fairway.api.errors import StatusError
from fairway.httpserver import Request
from fairway.nodeagent.server.channels import Channels
from fairway.nodeagent.server.conversation import STDOUT, Input, InputEnd, Left, Resize, exit_status
from fairway.nodeagent.server.handshake import CHANNELS, choose
from fairway.nodeagent.server.websocket import accept_headers


def client() -> Connection:
    return Connection(ConnectionType.CLIENT)


def test_a_message_carries_its_channel_in_the_first_byte() -> None:
    peer = client()
    peer.receive_data(Channels().message(STDOUT, b"hello"))
    assert [event.data for event in peer.events() if isinstance(event, BytesMessage)] == [b"\x01hello"]


def test_input_its_end_and_sizes_are_understood() -> None:
    peer, channels = client(), Channels()
    sent = [b"\x00abc", b"\xff\x00", b'\x04{"Width":80,"Height":24}', b"\x04junk", b"\x00"]
    data = b"".join(peer.send(BytesMessage(data=message)) for message in sent)
    assert channels.receive(data) == [Input(b"abc"), InputEnd(), Resize(80, 24)]


def test_a_message_in_fragments_counts_once_it_is_whole() -> None:
    peer, channels = client(), Channels()
    first = peer.send(BytesMessage(data=b"\x00ab", message_finished=False))
    assert channels.receive(first) == []
    assert channels.receive(peer.send(BytesMessage(data=b"cd"))) == [Input(b"abcd")]


def test_a_ping_is_answered_with_its_own_payload() -> None:
    peer, channels = client(), Channels()
    assert channels.receive(peer.send(Ping(b"you there?"))) == []
    peer.receive_data(channels.replies[0])
    assert [event.payload for event in peer.events() if isinstance(event, Pong)] == [b"you there?"]


def test_a_client_that_closes_has_left_and_is_answered() -> None:
    peer, channels = client(), Channels()
    assert channels.receive(peer.send(CloseConnection(code=1000))) == [Left()]
    peer.receive_data(channels.replies[0])
    assert any(isinstance(event, CloseConnection) for event in peer.events())
    assert channels.close() == b""


def test_the_end_of_the_connection_and_nonsense_both_mean_that_the_client_left() -> None:
    assert Channels().receive(b"") == [Left()]
    assert Channels().receive(b"\xff\xff\xff\xff\xff\xff") == [Left()]


def test_closing_says_all_is_well() -> None:
    peer = client()
    peer.receive_data(Channels().close())
    assert [event.code for event in peer.events() if isinstance(event, CloseConnection)] == [1000]


def test_the_newest_subprotocol_both_know_is_chosen() -> None:
    def chosen(offered: str) -> str:
        headers = {"upgrade": "websocket", "sec-websocket-protocol": offered}
        return choose(Request("GET", "/exec/default/web/main", headers), CHANNELS)

    assert chosen("v4.channel.k8s.io, v5.channel.k8s.io") == "v5.channel.k8s.io"
    assert chosen("v4.channel.k8s.io,channel.k8s.io") == "v4.channel.k8s.io"
    with pytest.raises(StatusError, match="unable to upgrade"):
        chosen("chat")


def test_the_handshake_is_answered_as_rfc_6455_computes_it() -> None:
    headers = dict(accept_headers("dGhlIHNhbXBsZSBub25jZQ==", "v5.channel.k8s.io"))
    assert headers["Sec-WebSocket-Accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


def test_the_exit_code_is_where_kubectl_looks_for_it() -> None:
    assert json.loads(exit_status(0))["status"] == "Success"
    status = json.loads(exit_status(7))
    assert status["reason"] == "NonZeroExitCode"
    assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "7"}]
