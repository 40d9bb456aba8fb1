"""Whatever a client sends, it gets an answer, in time, and never a server error; and the server stays small.

FAIRWAY_FUZZ sets how many mutated requests are sent (4,000 unless told), FAIRWAY_FUZZ_SEED which.
"""

from __future__ import annotations

import http.client
import os
import random
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.component.mistakes import GIVEN, MISTAKES, Mistake
from tests.component.mutation import ODD_PARAMETERS, mutated, samples
from tests.component.probe import CREDENTIALS, Probe, Reply, probing
from tests.component.protobuf_noise import MEDIA, noise
from tests.conformance.server import ApiServer, api_server

REQUESTS = int(os.environ.get("FAIRWAY_FUZZ", "4000"))
SEED = int(os.environ.get("FAIRWAY_FUZZ_SEED", "1"))
MOST_SECONDS = 2.0
MOST_MEGABYTES = 300
THOROUGH = settings(
    max_examples=REQUESTS // 8,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("fuzz")) as started:
        with probing(started) as setup:  # Pods are refused where there is no account for them
            setup.send(
                "POST", "/api/v1/namespaces/default/serviceaccounts", b'{"metadata":{"name":"default"}}'
            )
        yield started


@pytest.fixture
def probe(server: ApiServer) -> Iterator[Probe]:
    """Afterwards the server must still take writes, and not have grown out of bounds."""
    with probing(server) as ready:
        yield ready
        assert takes_writes(ready)
        assert server.megabytes() < MOST_MEGABYTES


def takes_writes(probe: Probe) -> bool:
    body = b'{"metadata":{"generateName":"alive-"}}'
    return probe.send("POST", "/api/v1/namespaces/default/configmaps", body).status == 201


def complaint(reply: Reply) -> str:
    """What is wrong with an answer to a request that may be nonsense; empty if nothing."""
    # 503 and 504 (a version not reached yet) tell clients to come again, as Kubernetes does.
    if reply.status >= 500 and not (reply.status in (503, 504) and reply.is_status):
        return f"{reply.status} {reply.message}"
    if reply.status >= 400 and reply.body and not reply.is_status and "text/plain" not in reply.media:
        return f"{reply.status}, but no Status: {reply.body[:200]!r}"
    slow = reply.seconds > MOST_SECONDS and reply.status != 504
    return f"took {reply.seconds:.1f} s" if slow else ""


def tried(probe: Probe, method: str, path: str, body: bytes | None, media: str, accept: str = "*/*") -> str:
    try:
        reply = probe.send(method, path, body, media, {**CREDENTIALS, "Accept": accept})
    except (OSError, http.client.HTTPException) as error:
        found = f"no answer: {error!r}"
    else:
        found = complaint(reply)
    return found and f"{found}\n    {method} {path} {media} {(body or b'')[:500]!r}"


def test_recorded_requests_gone_wrong_are_refused_not_failed(probe: Probe) -> None:
    chance = random.Random(SEED)
    found = []
    for _ in range(REQUESTS):
        sample = chance.choice(samples())
        path, body, media = mutated(sample, chance)
        method = "GET" if sample.method == "HEAD" else sample.method  # a failure should say why
        found.append(tried(probe, method, path.replace(" ", "%20"), body, media, sample.accept))
    assert not any(found), "\n".join(filter(None, found))


def test_protobuf_gone_wrong_is_refused_not_failed(probe: Probe) -> None:
    chance = random.Random(SEED)
    bodies = [noise(chance) for _ in range(REQUESTS // 4)]
    found = [tried(probe, "POST", path, body, MEDIA) for path, body in bodies]
    assert not any(found), "\n".join(filter(None, found))


SEGMENTS = st.sampled_from(
    [
        "api",
        "apis",
        "v1",
        "apps",
        "namespaces",
        "default",
        "services",
        "kubernetes",
        "pods",
        "status",
        "proxy",
    ]
) | st.text(st.characters(codec="utf-8"), max_size=8)
PARAMETERS = st.dictionaries(
    st.sampled_from(ODD_PARAMETERS) | st.text(max_size=5), st.text(st.characters(codec="utf-8")), max_size=3
)


@THOROUGH
@given(
    method=st.sampled_from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]),
    segments=st.lists(SEGMENTS, max_size=8),
    parameters=PARAMETERS,
)
def test_no_path_and_no_query_makes_it_fail(
    probe: Probe, method: str, segments: list[str], parameters: dict[str, str]
) -> None:
    path = "/" + "/".join(quoted(segment) for segment in segments)
    query = "&".join(f"{quoted(name)}={quoted(value)}" for name, value in parameters.items())
    assert not tried(probe, method, f"{path}?{query}", None, "application/json")


def quoted(text: str) -> str:
    """Percent-encoded, but for the signs that paths and queries are made of."""
    return "".join(c if (c.isascii() and c.isalnum()) or c in "/.&=%" else percent(c) for c in text)


def percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())


HEADER_TEXT = st.text(
    st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=60
)
MEDIA_TYPES = st.sampled_from(
    ["application/json", "*/*", "application/yaml", MEDIA, "text/html", ";;=,", "a/b;q=x"]
)


@THOROUGH
@given(accept=MEDIA_TYPES | HEADER_TEXT, media=MEDIA_TYPES | HEADER_TEXT, other=HEADER_TEXT)
def test_no_header_makes_it_fail(probe: Probe, accept: str, media: str, other: str) -> None:
    odd = {"Accept": accept, "User-Agent": other, "X-Remote-User": other, "Impersonate-User": other}
    headers = {**CREDENTIALS, **{name: value for name, value in odd.items() if value.strip()}}
    for method, body in (("GET", None), ("POST", b'{"metadata":{"name":"UPPER"}}')):
        reply = probe.send(method, "/api/v1/namespaces/default/services", body, media.strip(), headers)
        assert not complaint(reply)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.what)
def test_a_mistake_that_once_made_it_fail_is_refused(probe: Probe, mistake: Mistake) -> None:
    for collection, obj in GIVEN:
        probe.send("POST", collection, obj)
    reply = probe.send(mistake.method, mistake.path, mistake.body, mistake.media)
    assert 400 <= reply.status < 500
