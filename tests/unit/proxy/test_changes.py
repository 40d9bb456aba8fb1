"""Which Services need planning after which event."""

from __future__ import annotations

from fairway.proxy.changes import Tracker
from fairway.proxy.topology import Place

from .objects import endpoint_slice, service


def tracker() -> Tracker:
    return Tracker(Place("n1"))


def targets(tracked: Tracker, key: str = "default/web") -> list[str]:
    states = tracked.take()[key]
    return [endpoint.ip for state in states for endpoint in state.pools.cluster]


def test_a_change_makes_only_its_own_service_dirty() -> None:
    tracked = tracker()
    tracked.service_changed("default/web", None, service())
    tracked.service_changed("default/db", None, service("db", "10.96.0.81"))
    assert set(tracked.take()) == {"default/web", "default/db"}
    assert tracked.take() == {}
    tracked.slice_changed("default/web-1", None, endpoint_slice(["10.244.0.1"]))
    assert set(tracked.take()) == {"default/web"}


def test_slices_that_come_before_their_service_are_remembered() -> None:
    tracked = tracker()
    tracked.slice_changed("default/web-1", None, endpoint_slice(["10.244.0.1"]))
    assert tracked.take() == {"default/web": ()}
    tracked.service_changed("default/web", None, service())
    assert targets(tracked) == ["10.244.0.1"]


def test_slices_of_one_service_are_put_together() -> None:
    tracked = tracker()
    tracked.service_changed("default/web", None, service())
    tracked.slice_changed("default/web-1", None, endpoint_slice(["10.244.0.2"]))
    tracked.slice_changed("default/web-2", None, endpoint_slice(["10.244.0.1"]))
    assert targets(tracked) == ["10.244.0.1", "10.244.0.2"]


def test_a_deleted_slice_takes_its_endpoints_along() -> None:
    tracked = tracker()
    view = endpoint_slice(["10.244.0.1"])
    tracked.service_changed("default/web", None, service())
    tracked.slice_changed("default/web-1", None, view)
    tracked.take()
    tracked.slice_changed("default/web-1", view, None)
    assert targets(tracked) == []


def test_a_deleted_service_has_no_ports() -> None:
    tracked = tracker()
    view = service()
    tracked.service_changed("default/web", None, view)
    tracked.take()
    tracked.service_changed("default/web", view, None)
    assert tracked.take() == {"default/web": ()}
    assert len(tracked) == 0


def test_a_slice_that_moves_to_another_service_changes_both() -> None:
    tracked = tracker()
    old, new = endpoint_slice(["10.244.0.1"]), endpoint_slice(["10.244.0.1"], "db")
    tracked.service_changed("default/web", None, service())
    tracked.service_changed("default/db", None, service("db", "10.96.0.81"))
    tracked.slice_changed("default/web-1", None, old)
    tracked.take()
    tracked.slice_changed("default/web-1", old, new)
    changed = tracked.take()
    assert [len(changed[key][0].pools.cluster) for key in ("default/web", "default/db")] == [0, 1]


def test_headless_slices_and_those_of_other_proxies_are_looked_away_from() -> None:
    tracked = tracker()
    for label in ("service.kubernetes.io/headless", "service.kubernetes.io/service-proxy-name"):
        tracked.slice_changed("default/web-1", None, endpoint_slice(["10.244.0.1"], labels={label: ""}))
    assert not tracked.dirty


def test_a_slice_that_becomes_headless_is_forgotten() -> None:
    tracked = tracker()
    old = endpoint_slice(["10.244.0.1"])
    tracked.service_changed("default/web", None, service())
    tracked.slice_changed("default/web-1", None, old)
    tracked.take()
    labels = {"service.kubernetes.io/headless": ""}
    tracked.slice_changed("default/web-1", old, endpoint_slice(["10.244.0.1"], labels=labels))
    assert targets(tracked) == []


def test_moving_to_another_zone_makes_everything_dirty_and_staying_does_not() -> None:
    tracked = tracker()
    tracked.service_changed("default/web", None, service())
    tracked.take()
    tracked.move(Place("n1"))
    assert not tracked.dirty
    tracked.move(Place("n1", "east"))
    assert set(tracked.take()) == {"default/web"}
