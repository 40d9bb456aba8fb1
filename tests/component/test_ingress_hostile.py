"""What people with bad intentions write into Ingresses and requests: it stays data, and harms nobody else."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from fairway.ingress.annotations import SUPPORTED
from fairway.ingress.nginx import Nginx
from fairway.ingress.objects import ConfigMap
from tests.component.ingress_under_test import Front, ask
from tests.unit.ingress.cluster import ingress
from tests.unit.ingress.requests import I, P

NASTY = (
    '"; return 200 "owned"; #',
    "'; } location /x { return 200; } #",
    "\n}\nserver { listen 9; }",
    "]]..os.execute('touch /tmp/owned')..[[",
    "${jndi:ldap://x}$(id)`id`",
    "%0d%0aX-Injected: 1",
    "\r\nX-Injected: 1\r\n",
    "a" * 100_000,
    "(((((a+)+)+)+)+$",
    "\x00\x01\ufffd\U0001f600",
    "../../../../etc/passwd",
    "$request_uri$host",
)


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
async def test_a_nasty_ingress_takes_no_other_down(served: Front, text: str) -> None:
    await served.serve(["good", "bad"])
    annotations = {name.replace("-", "_"): text for name in SUPPORTED}
    configuration = served.nginx.settings.folder / "nginx.conf"
    before = configuration.read_text()
    await served.tell(
        ingress("good", ("good.test", P, "/", "good")),
        ingress("bad", ("bad.test", I, f"/{text}", "bad"), (text, P, "/", "bad"), **annotations),
        ingress("regex", ("bad.test", I, text, "bad"), use_regex="true", rewrite_target=text),
    )
    answer = await served.get("good.test")
    assert answer.service == "good"
    assert "x-injected" not in answer.headers
    for path in ("/", "/x", "/owned"):
        assert (await served.get("bad.test", path)).status in (200, 400, 403, 404, 500, 503)
    assert (await served.get("good.test")).service == "good"
    assert configuration.read_text() == before
    assert served.nginx.starts == 1


async def test_nothing_of_an_ingress_is_in_the_configuration(served: Front) -> None:
    await served.tell(ingress("marked", ("marked-host.test", P, "/marked-path", "web")))
    folder = served.nginx.settings.folder
    assert "marked" not in (folder / "nginx.conf").read_text()


async def test_custom_headers_are_headers_or_nothing(served: Front) -> None:
    await served.serve(["web"])
    data = {"X-Good": "yes", "X-Bad": "a\r\nX-Injected: 1", "X Bad": "no", "X-Ü": "no"}
    made = msgspec.convert({"metadata": {"name": "extra", "namespace": "default"}, "data": data}, ConfigMap)
    await served.tell(made, ingress("one", ("web.test", P, "/", "web"), custom_headers="extra"))
    headers = (await served.get("web.test")).headers
    assert headers["x-good"] == "yes"
    assert not {"x-injected", "x-bad", "x bad"} & headers.keys()


async def test_requests_that_are_none_are_refused(served: Front) -> None:
    await served.serve(["web"])
    await served.tell(ingress("one", ("web.test", P, "/", "web")))
    for line, host in itertools.product(("GET", "GET / HTTP/9.9", "G\x00T / HTTP/1.1"), ("web.test",)):
        assert (await ask(served.config, line, host, {})).status in (400, 405, 505)
    for host in ("web.test/..", "web test", "\\", "a" * 5000):
        assert (await served.get(host)).status in (400, 404)
    assert (await served.get("web.test")).service == "web"


async def test_a_thousand_unknown_hosts_leave_nothing_behind(served: Front) -> None:
    await served.serve(["web"])
    await served.tell(ingress("one", ("web.test", P, "/", "web")))
    for number in range(1000):
        assert (await served.get(f"h{number}.test")).status == 404
    assert (await served.get("web.test")).service == "web"


def test_the_control_socket_is_for_its_owner_only(served: Front) -> None:
    nginx: Nginx = served.nginx
    assert nginx.settings.socket.stat().st_mode & 0o077 == 0
