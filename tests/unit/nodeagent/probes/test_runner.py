import msgspec

from fairway.nodeagent.objects import Container, Probe
from fairway.nodeagent.pods.model import Health
from fairway.nodeagent.probes.checks import port_number
from fairway.nodeagent.probes.runner import ProbeRunner, judged
from fairway.nodeagent.probes.state import Kind
from fairway.nodeagent.runtime.runc import Completed


async def never(command: object) -> Completed:
    raise AssertionError("nothing should run")


def health_of(container: Container, before: Health | None = None) -> Health:
    return ProbeRunner(container, "10.244.1.2", 0.0, never, lambda: None, before=before).health


def test_without_probes_a_running_container_is_started_and_ready() -> None:
    assert health_of(Container()) == Health(started=True, ready=True, alive=True)


def test_a_container_with_a_readiness_probe_is_not_ready_before_the_first_success() -> None:
    assert health_of(Container(readiness_probe=Probe())) == Health(started=True, ready=False, alive=True)


def test_a_container_with_a_startup_probe_is_neither_started_nor_ready_before_it_passes() -> None:
    container = Container(name="c", startup_probe=Probe())
    assert health_of(container) == Health(started=False, ready=False, alive=True)
    assert judged(health_of(container), Kind.STARTUP, True, "", container) == Health()


def test_what_was_ready_stays_ready_until_its_probe_says_otherwise() -> None:
    before = Health(started=True, ready=True)
    assert health_of(Container(readiness_probe=Probe()), before).ready


def test_passing_startup_does_not_make_ready_what_has_a_readiness_probe() -> None:
    container = Container(startup_probe=Probe(), readiness_probe=Probe())
    assert judged(health_of(container), Kind.STARTUP, True, "", container) == Health(ready=False)


def test_a_failed_liveness_probe_says_which_container_and_why() -> None:
    container = Container(name="web", liveness_probe=Probe())
    found = judged(Health(), Kind.LIVENESS, False, "HTTP probe failed with statuscode: 500", container)
    assert not found.alive
    assert found.complaint == ("Container web failed liveness probe: HTTP probe failed with statuscode: 500")


def test_ports_may_be_numbers_numbers_as_text_or_names() -> None:
    container = msgspec.convert({"ports": [{"containerPort": 8080, "name": "http"}]}, Container)
    assert [port_number(port, container) for port in (80, "81", "http", "nope")] == [80, 81, 8080, None]
