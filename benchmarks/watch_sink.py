"""Watchers that only take what they are sent: they decrypt nothing, so the server's work is what is measured.

usage: python -m benchmarks.watch_sink PORT TOKEN PATH COUNT; prints `ready` once all are watching.
"""

from __future__ import annotations

import select
import socket
import ssl
import sys


def main() -> None:
    port, token, path, count = sys.argv[1:]
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    poll = select.epoll()
    watchers = {w.fileno(): w for w in (watcher(context, int(port), token, path) for _ in range(int(count)))}
    for number in watchers:
        poll.register(number, select.EPOLLIN)
    print("ready", flush=True)
    while True:
        for number, _ in poll.poll():
            watchers[number].recv(1 << 16)


def watcher(context: ssl.SSLContext, port: int, token: str, path: str) -> socket.socket:
    plain = socket.create_connection(("127.0.0.1", port))
    secure = context.wrap_socket(plain, server_hostname="localhost")
    request = f"GET {path}?watch=true HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
    secure.sendall(request.encode())
    secure.recv(1 << 16)
    return socket.socket(fileno=secure.detach())


if __name__ == "__main__":
    main()
