from datetime import UTC, datetime, timedelta

from fairway.api.registration import PROBE, endpoint_slice, lapsed, lease

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PORT = {"name": "main", "port": 80, "protocol": "TCP"}


def test_a_lease_lapses_when_nobody_has_renewed_it_for_its_time() -> None:
    spec = lease("web", "here", 10, NOW)["spec"]
    assert not lapsed(spec, NOW + timedelta(seconds=9))
    assert lapsed(spec, NOW + timedelta(seconds=11))
    assert lapsed({}, NOW)


def test_an_endpoint_with_a_probe_is_not_ready_before_it_has_passed() -> None:
    probed = endpoint_slice("web-1", "web", "192.0.2.1", PORT, "node-1", '{"tcpSocket":{"port":80}}')
    plain = endpoint_slice("web-1", "web", "2001:db8::1", PORT, "node-1", "")
    assert probed["endpoints"][0]["conditions"] == {"ready": False}
    assert PROBE in probed["metadata"]["annotations"]
    assert plain["endpoints"][0]["conditions"] == {"ready": True}
    assert plain["addressType"] == "IPv6"
