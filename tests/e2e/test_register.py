"""What runs outside the cluster, registered: probed, served through a virtual IP, gone with its lease."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

from fairway.cluster.record import read_record
from tests.e2e.clusters import FAIRWAY, Cluster, eventually

SERVER = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"from outside")
    def log_message(self, *words): pass
http.server.HTTPServer((sys.argv[1], 7179), Handler).serve_forever()
"""


def host_address(cluster: Cluster) -> str:
    record = read_record(cluster.data)
    assert record
    return str(record.layout.host_address)


@contextlib.contextmanager
def process(cluster: Cluster, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    started = subprocess.Popen(command, env=cluster.environment, stdout=subprocess.DEVNULL)
    try:
        yield started
    finally:
        started.kill()
        started.wait()


def register(cluster: Cluster, *more: str) -> tuple[str, ...]:
    where = ("--address", host_address(cluster), "--port", "7179", "--service-port", "80")
    return (FAIRWAY, "register", "outside", *where, "--probe", "http", "--period", "1", "--lease", "3", *more)


def answer(cluster: Cluster) -> str:
    path = "jsonpath={.spec.clusterIP}"
    address = cluster.run("kubectl", "get", "service", "outside", "-o", path, check=False).stdout
    return cluster.run("curl", "-s", "--max-time", "3", address or "127.0.0.1:1", check=False).stdout


def slices(cluster: Cluster) -> str:
    return cluster.kubectl("get", "endpointslices", "-l", "kubernetes.io/service-name=outside", "-o", "name")


def test_a_registered_process_is_served_while_it_answers_and_its_lease_is_kept(cluster: Cluster) -> None:
    serve = (sys.executable, "-c", SERVER, host_address(cluster))
    with process(cluster, *register(cluster)) as registering:
        with process(cluster, *serve):
            eventually(lambda: answer(cluster) == "from outside", "the virtual IP leads to it")
        eventually(lambda: answer(cluster) == "", "its probe fails, and nobody is led there any more")
        assert slices(cluster)
        with process(cluster, *serve):
            eventually(lambda: answer(cluster) == "from outside", "it is back")
            registering.kill()
            eventually(lambda: not slices(cluster), "nobody renews the lease: the endpoint goes")
            eventually(lambda: answer(cluster) == "", "and with it the way there")


def test_a_registration_ends_with_the_process_it_stands_for(cluster: Cluster) -> None:
    serve = (sys.executable, "-c", SERVER, host_address(cluster))
    with (
        process(cluster, *serve) as server,
        process(cluster, *register(cluster, "--pid", str(server.pid))) as registering,
    ):
        eventually(lambda: answer(cluster) == "from outside", "the virtual IP leads to it")
        server.kill()
        assert registering.wait(60) == 0
        assert not slices(cluster)
