"""Objects as messages show them: with the names and the order of Kubernetes' own structs."""

from __future__ import annotations

from fairway.api.validation.internal_form import difference, shown, shown_list


def test_every_field_is_shown_under_its_inner_name() -> None:
    assert shown("core.v1.Taint", {"key": "a", "effect": "NoSchedule"}) == {
        "Key": "a",
        "Value": "",
        "Effect": "NoSchedule",
        "TimeAdded": None,
    }
    assert shown_list("core.v1.NodeAddress", [{"type": "Hostname", "address": "a"}]) == [
        {"Type": "Hostname", "Address": "a"}
    ]
    assert shown_list("core.v1.NodeAddress", None) is None


def test_what_a_pod_shares_with_its_host_is_inside_its_security_context() -> None:
    spec = shown("core.v1.PodSpec", {"containers": [], "hostNetwork": True, "serviceAccount": "a"})
    assert spec["SecurityContext"]["HostNetwork"] is True
    assert "HostNetwork" not in spec
    assert not any(name.lower() == "serviceaccount" for name in spec)


def test_a_difference_has_three_lines_around_what_changed() -> None:
    old = {"name": "c", "image": "a"}
    assert difference("core.v1.EphemeralContainer", old, old | {"image": "b"}) == (
        "@@ -1,6 +1,6 @@\n"
        " {\n"
        '  "Name": "c",\n'
        '- "Image": "a",\n'
        '+ "Image": "b",\n'
        '  "Command": null,\n'
        '  "Args": null,\n'
        '  "WorkingDir": "",\n'
    )
    assert difference("core.v1.EphemeralContainer", old, old) == ""


def test_maps_are_in_order_and_texts_escaped_as_go_escapes_them() -> None:
    selector = {"z": "1", "a": "<&>"}
    text = difference("core.v1.PodSpec", {"containers": []}, {"containers": [], "nodeSelector": selector})
    assert '+  "a": "\\u003c\\u0026\\u003e",\n+  "z": "1"\n' in text
