"""Which texts may be names, and what is said of those that may not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.api.validation import names as n

LABEL_REGEX = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
BAD_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    f"'{LABEL_REGEX}')"
)
BAD_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    rf"'{LABEL_REGEX}(\.{LABEL_REGEX})*')"
)
BAD_NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
BAD_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
BAD_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
    "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
ONLY = "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
LETTER = "must contain at least one letter (a-z)"
ENDS = "must not begin or end with a hyphen"

CASES: list[tuple[Callable[[str], list[str]], str, list[str]]] = [
    (n.dns_label_errors, "web-1", []),
    (n.dns_label_errors, "1", []),
    (n.dns_label_errors, "a" * 63, []),
    (n.dns_label_errors, "a" * 64, ["must be no more than 63 characters"]),
    (n.dns_label_errors, "a.b", ["must not contain dots"]),
    (n.dns_label_errors, "A", [BAD_LABEL]),
    (n.dns_label_errors, "-a", [BAD_LABEL]),
    (n.dns_label_errors, "a-", [BAD_LABEL]),
    (n.dns_label_errors, "", [BAD_LABEL]),
    (n.dns_label_errors, "a\n", [BAD_LABEL]),
    (n.dns_label_errors, "ä" * 32, ["must be no more than 63 characters", BAD_LABEL]),
    (n.dns_subdomain_errors, "a.b-c.9", []),
    (n.dns_subdomain_errors, "a" * 253, []),
    (n.dns_subdomain_errors, "a" * 254, ["must be no more than 253 characters"]),
    (n.dns_subdomain_errors, "a..b", [BAD_SUBDOMAIN]),
    (n.dns_subdomain_errors, "a_b", [BAD_SUBDOMAIN]),
    (n.dns_1035_label_errors, "a1", []),
    (n.dns_1035_label_errors, "1a", [BAD_1035]),
    (n.wildcard_subdomain_errors, "*.example.com", []),
    (n.qualified_name_errors, "app", []),
    (n.qualified_name_errors, "My_name.x", []),
    (n.qualified_name_errors, "example.com/app", []),
    (n.qualified_name_errors, "no good", [BAD_NAME_PART]),
    (n.qualified_name_errors, "", ["name part must be non-empty", BAD_NAME_PART]),
    (n.qualified_name_errors, "a" * 64, ["name part must be no more than 63 bytes"]),
    (n.qualified_name_errors, "/app", ["prefix part must be non-empty"]),
    (n.qualified_name_errors, "A_B/c", [f"prefix part {BAD_SUBDOMAIN}"]),
    (n.qualified_name_errors, f"{'a' * 254}/c", ["prefix part must be no more than 253 bytes"]),
    (n.qualified_name_errors, "a/", ["name part must be non-empty", BAD_NAME_PART]),
    (n.label_value_errors, "", []),
    (n.label_value_errors, "My_Value.1", []),
    (n.label_value_errors, "a" * 64, ["must be no more than 63 bytes"]),
    (n.label_value_errors, "no good", [BAD_VALUE]),
    (n.port_name_errors, "http", []),
    (n.port_name_errors, "a" * 16, ["must be no more than 15 characters"]),
    (n.port_name_errors, "HTTP", [ONLY, LETTER]),
    (n.port_name_errors, "8080", [LETTER]),
    (n.port_name_errors, "", [ONLY, LETTER]),
    (n.port_name_errors, "a--b", ["must not contain consecutive hyphens"]),
    (n.port_name_errors, "-a", [ENDS]),
    (n.port_name_errors, "a-", [ENDS]),
    (n.config_map_key_errors, "key.name", []),
    (n.config_map_key_errors, ".", ["must not be '.'"]),
    (n.config_map_key_errors, "..", ["must not be '..'"]),
    (n.config_map_key_errors, "..a", ["must not start with '..'"]),
    (n.config_map_key_errors, "a" * 254, ["must be no more than 253 characters"]),
    (n.environment_name_errors, "MY VAR-1.x", []),
    (n.environment_name_errors, "", ["must be non-empty"]),
    (n.percent_errors, "50%", []),
    (n.path_segment_errors, "system:node", []),
    (n.path_segment_errors, ".", ["may not be '.'"]),
    (n.path_segment_errors, "a/b%", ["may not contain '/'", "may not contain '%'"]),
]


@pytest.mark.parametrize(("rule", "value", "errors"), CASES)
def test_a_text_is_judged_in_the_words_of_kubernetes(
    rule: Callable[[str], list[str]], value: str, errors: list[str]
) -> None:
    assert rule(value) == errors


def test_a_key_has_at_most_one_slash() -> None:
    (error,) = n.qualified_name_errors("a/b/c")
    assert error.startswith("a valid label key must consist of")
    assert error.endswith("with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')")


def test_environment_names_are_printable_and_without_equals_sign() -> None:
    (error,) = n.environment_name_errors("a=b")
    assert error == (
        "a valid environment variable name must consist only of printable ASCII characters other than '='"
    )
    assert n.environment_name_errors("ä") == [error]


def test_a_prefix_for_generated_names_may_end_in_a_dash() -> None:
    assert n.label_name("web-", True) == []
    assert n.label_name("web-", False) == [BAD_LABEL]
    assert n.subdomain_name("Web-", True) == [BAD_SUBDOMAIN]


def test_a_path_segment_that_grows_may_start_with_dots() -> None:
    assert n.path_segment_name("..", True) == []
    assert n.path_segment_name("..", False) == ["may not be '..'"]


@given(st.lists(st.from_regex(LABEL_REGEX, fullmatch=True), min_size=1, max_size=4))
def test_labels_joined_by_dots_make_a_subdomain(labels: list[str]) -> None:
    errors = n.dns_subdomain_errors(".".join(labels))
    assert errors == ([] if len(".".join(labels)) <= 253 else ["must be no more than 253 characters"])
