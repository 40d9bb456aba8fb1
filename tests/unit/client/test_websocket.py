"""How a WebSocket over TLS ends, with a peer that takes its time."""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import wsproto
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Request

from fairway.client import Client, KubeConfig

from .test_kubeconfig import certificate

PROTOCOL = "v5.channel.k8s.io"


class SlowPeer:
    """Sends one message and answers the farewell of the WebSocket, but never that of TLS below it."""

    def __init__(self, listener: socket.socket, tls: ssl.SSLContext) -> None:
        self._listener, self._tls = listener, tls

    def serve(self) -> bool:
        """Whether the client ended the connection itself after the farewell."""
        with self._tls.wrap_socket(self._listener.accept()[0], server_side=True) as connection:
            self._converse(connection, wsproto.WSConnection(wsproto.ConnectionType.SERVER))
            poll = select.poll()
            poll.register(connection, select.POLLRDHUP | select.POLLHUP)
            return bool(poll.poll(5_000))

    def _converse(self, connection: ssl.SSLSocket, protocol: wsproto.WSConnection) -> None:
        while True:
            protocol.receive_data(connection.recv(4096))
            for event in protocol.events():
                if isinstance(event, Request):
                    connection.send(protocol.send(AcceptConnection(subprotocol=PROTOCOL)))
                    connection.send(protocol.send(BytesMessage(b"\1hello")))
                elif isinstance(event, CloseConnection):
                    connection.send(protocol.send(event.response()))
                    return


@contextmanager
def peer(folder: Path) -> Iterator[tuple[SlowPeer, KubeConfig]]:
    public, private = certificate("server", "api.local")
    (folder / "server.pem").write_bytes(public + private)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(folder / "server.pem")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        yield SlowPeer(listener, tls), KubeConfig(server=url, ca=public, tls_server_name="api.local")


async def test_a_closed_websocket_leaves_no_connection_open_whatever_the_peer_does(tmp_path: Path) -> None:
    with peer(tmp_path) as (slow, config):
        serving = asyncio.create_task(asyncio.to_thread(slow.serve))
        async with (
            Client(config) as client,
            client.websocket("/exec", params=(), protocol=PROTOCOL) as connection,
        ):
            assert await connection.receive() == b"\1hello"
        assert await serving
