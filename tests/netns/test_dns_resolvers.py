"""What programs see: getaddrinfo of glibc and of musl, in a namespace with the resolv.conf of a Pod."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import uvloop

from tests.component.dns_support import StaticCluster, fixtures, serving
from tests.component.test_dns_server import Upstream

PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include <netdb.h>
#include <arpa/inet.h>
int main(int n, char **names) {
    for (int i = 1; i < n; i++) {
        struct addrinfo hints, *found = 0;
        char text[64] = "-";
        memset(&hints, 0, sizeof hints);
        hints.ai_family = AF_INET;
        hints.ai_socktype = SOCK_STREAM;
        if (!getaddrinfo(names[i], 0, &hints, &found))
            inet_ntop(AF_INET, &((struct sockaddr_in *)found->ai_addr)->sin_addr, text, sizeof text);
        printf("%s %s\n", names[i], text);
    }
    return 0;
}
"""
RESOLV_CONF = (
    "search prod.svc.cluster.local svc.cluster.local cluster.local\nnameserver 127.0.0.1\noptions ndots:5\n"
)
COREFILE = """\
.:53 {
    bind 127.0.0.1
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
    }
    forward . 127.0.0.1:5300
    cache 30
    loadbalance
}
"""
WEB, OTHER, OUTSIDE = "10.96.4.1", "10.96.1.2", "192.0.2.1"
WANTED = {
    "web": WEB,
    "web.prod": WEB,
    "web.prod.svc": WEB,
    "web.prod.svc.cluster.local": WEB,
    "web.prod.svc.cluster.local.": WEB,
    "multi.shop": OTHER,
    "multi.shop.svc": OTHER,
    "www.outside.test": OUTSIDE,
    "nope.shop.svc.cluster.local": "-",
}


def compiled(folder: Path, compiler: str) -> Path:
    source, program = folder / "look.c", folder / f"look-{compiler}"
    source.write_text(PROGRAM)
    subprocess.run([compiler, "-o", str(program), str(source)], check=True)
    return program


@pytest.mark.parametrize("compiler", ["gcc", "musl-gcc"])
def test_all_forms_of_a_name_resolve_in_a_pod(compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    program = compiled(tmp_path, compiler)
    space = f"fwtest-dr-{os.getpid()}"
    # `ip netns exec` puts this file over /etc/resolv.conf, for the command alone.
    etc = Path("/etc/netns") / space
    etc.mkdir(parents=True)
    try:
        (etc / "resolv.conf").write_text(RESOLV_CONF)
        (etc / "nsswitch.conf").write_text("hosts: dns\n")
        subprocess.run(["ip", "netns", "add", space], check=True)
        subprocess.run(["ip", "-n", space, "link", "set", "lo", "up"], check=True)
        inside = ["ip", "netns", "exec", space, sys.executable, "-m", __name__, str(program)]
        root = Path(__file__).parents[2]
        shown = subprocess.run(inside, check=True, capture_output=True, text=True, cwd=root, timeout=120)
    finally:
        subprocess.run(["ip", "netns", "delete", space], check=False)
        shutil.rmtree(etc)
        with contextlib.suppress(OSError):
            etc.parent.rmdir()
    assert dict(line.split(" ") for line in shown.stdout.splitlines()) == WANTED


async def look(program: str) -> None:
    """Within the namespace: serves, and runs the program beside it."""
    udp, tcp = await Upstream().serve(5300)
    async with serving(COREFILE, StaticCluster(fixtures()), 53):
        process = await asyncio.create_subprocess_exec(program, *WANTED)
        await process.wait()
    udp.close()
    tcp.close()


if __name__ == "__main__":
    uvloop.run(look(sys.argv[1]))
