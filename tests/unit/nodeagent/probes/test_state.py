from fairway.nodeagent.objects import Probe
from fairway.nodeagent.probes.state import Kind, ProbeState, after, begin

PROBE = Probe(initial_delay_seconds=5, period_seconds=10, success_threshold=2, failure_threshold=3)


def results(kind: Kind, *outcomes: bool, probe: Probe = PROBE) -> ProbeState:
    state = begin(kind, probe, 100.0, 100.0)
    for succeeded in outcomes:
        state = after(state, probe, succeeded, state.next_at)
    return state


def test_the_first_check_waits_for_the_initial_delay() -> None:
    assert begin(Kind.READINESS, PROBE, 100.0, 100.0).next_at == 105.0


def test_a_container_long_past_its_delay_is_checked_at_once() -> None:
    assert begin(Kind.READINESS, PROBE, 100.0, 500.0).next_at == 500.0


def test_it_takes_as_many_successes_as_the_threshold_says() -> None:
    assert results(Kind.READINESS, True).outcome is None
    assert results(Kind.READINESS, True, True).outcome is True


def test_a_failure_in_between_starts_the_count_again() -> None:
    assert results(Kind.READINESS, True, False, True).outcome is None
    assert results(Kind.READINESS, True, True, False, False, True, False, False).outcome is True


def test_it_takes_as_many_failures_in_a_row_to_fail() -> None:
    assert results(Kind.LIVENESS, True, True, False, False).outcome is True
    assert results(Kind.LIVENESS, True, True, False, False, False).outcome is False


def test_one_that_failed_recovers() -> None:
    assert results(Kind.READINESS, False, False, False, True, True).outcome is True


def test_checks_come_every_period() -> None:
    assert results(Kind.LIVENESS, True, True).next_at == 125.0
    assert results(Kind.LIVENESS, False, False).next_at == 125.0


def test_a_container_not_ready_yet_is_asked_again_sooner_and_ever_less_often() -> None:
    state, pauses = begin(Kind.READINESS, PROBE, 0.0, 0.0), []
    for _ in range(9):
        before = state.next_at
        state = after(state, PROBE, False, before)
        pauses.append(round(state.next_at - before, 3))
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10]


def test_a_ready_container_is_asked_every_period_even_after_a_failure() -> None:
    assert results(Kind.READINESS, True, True, False).next_at == 135.0
