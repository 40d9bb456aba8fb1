"""A small HTTP/1.1 server on httptools: what the API server and the node agent answer through.

It exists because ASGI servers hide three things Kubernetes needs: the client's certificate, upgrades to
protocols other than WebSocket, and writes that leave at once. No knowledge of Kubernetes belongs here.
"""

from fairway.httpserver.messages import Handler, Peer, Request, Response, Stream, Upgrade
from fairway.httpserver.server import HttpServer
from fairway.httpserver.tunnel import Tunnel

__all__ = ["Handler", "HttpServer", "Peer", "Request", "Response", "Stream", "Tunnel", "Upgrade"]
