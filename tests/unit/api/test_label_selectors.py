"""Label selectors as queries and as objects: what they match, how they print, what is wrong with them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.api.selectors import SelectorError, label_selector, parse_label_selector, render_label_selector

LABELLED = {"a": {"x": "1"}, "b": {"x": "2", "y": ""}, "c": {}}


def selected(text: str) -> str:
    selector = parse_label_selector(text)
    return "".join(name for name, labels in LABELLED.items() if selector.matches(labels))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", "abc"),
        ("  ", "abc"),
        ("x", "ab"),
        ("!x", "c"),
        ("! x", "c"),
        ("x=1", "a"),
        ("x==1", "a"),
        ("x = 1", "a"),
        ("x!=1", "bc"),
        ("x in (1,2)", "ab"),
        ("x in ( 1 , 3 )", "a"),
        ("x in(1)", "a"),
        ("x notin (1)", "bc"),
        ("x=", ""),
        ("y=", "b"),
        ("x,y=", "b"),
        ("y in ()", None),
        ("y in (,)", "b"),
        ("y in (,1)", "b"),
        ("y in (1,)", "b"),
        ("y in (1,,2)", "b"),
        ("x>1", "b"),
        ("x<2", "a"),
        ("y>0", ""),
        ("x,!y", "a"),
        ("x!=1,x!=2", "c"),
        ("!x,!y,!z", "c"),
        ("in=1", ""),
        ("notin", ""),
        ("x in (in,notin,1)", "a"),
        ("example.com/x", ""),
    ],
)
def test_a_query_selects(text: str, names: str | None) -> None:
    if names is None:
        with pytest.raises(SelectorError):
            parse_label_selector(text)
    else:
        assert selected(text) == names


NAME_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x y", "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt"),
        (
            "x DoesNotExist",
            "unable to parse requirement: found 'DoesNotExist', expected: in, notin, =, ==, !=, gt, lt",
        ),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("x,", "found '', expected: identifier after ','"),
        ("x,,y", "found ',', expected: identifier after ','"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!!x", "unable to parse requirement: found '!', expected: identifier"),
        ("x==(", "unable to parse requirement: found '(', expected: identifier"),
        ("x in a", "unable to parse requirement: found 'a' expected: '('"),
        ("x in (a", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("x in (a=b)", "unable to parse requirement: found '=', expected: ',' or ')'"),
        ("x in (,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("x in (=", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("x in (a) b", "found 'b', expected: ',' or 'end of string'"),
        ("!x in (a)", "found 'in', expected: ',' or 'end of string'"),
        ("x=a b", "found 'b', expected: ',' or 'end of string'"),
        (
            "x in ()",
            "unable to parse requirement: values: Invalid value: []: "
            "for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            "x>a",
            'unable to parse requirement: values[0]: Invalid value: "a": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        ("-x=1", f'unable to parse requirement: <nil>: Invalid value: "-x": {NAME_RULE}'),
        ("x=-1", f'unable to parse requirement: values[0]: Invalid value: "-1": {VALUE_RULE}'),
        (
            "x in (-1,-2)",
            f'unable to parse requirement: [values[0]: Invalid value: "-1": {VALUE_RULE}, '
            f'values[1]: Invalid value: "-2": {VALUE_RULE}]',
        ),
    ],
)
def test_complaints_are_those_of_kubernetes(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_label_selector(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("b=1,a==2,c!=3", "a==2,b=1,c!=3"),
        ("x in (2,1,2)", "x in (1,2)"),
        ("x notin (b),!y,z", "x notin (b),!y,z"),
        ("x > 1,y<2", "x>1,y<2"),
    ],
)
def test_a_selector_prints_sorted(text: str, printed: str) -> None:
    assert str(parse_label_selector(text)) == printed


@given(st.text("xy!=(),<> in", max_size=12))
def test_any_text_is_parsed_or_refused_and_what_prints_reads_back(text: str) -> None:
    try:
        selector = parse_label_selector(text)
    except SelectorError:
        return
    assert parse_label_selector(str(selector)) == selector


# ---- objects -------------------------------------------------------------------------------------------


def test_an_object_selects_by_labels_and_expressions() -> None:
    selector = label_selector(
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["b", "a"]},
                {"key": "track", "operator": "NotIn", "values": ["canary"]},
                {"key": "zone", "operator": "Exists"},
                {"key": "old", "operator": "DoesNotExist"},
            ],
        }
    )
    assert selector is not None
    labels = {"app": "web", "tier": "a", "zone": "z"}
    assert selector.matches(labels)
    for change in ({"app": "db"}, {"tier": "c"}, {"track": "canary"}, {"old": ""}):
        assert not selector.matches(labels | change)
    assert not selector.matches({"app": "web", "tier": "a"})
    assert str(selector) == "app=web,!old,tier in (a,b),track notin (canary),zone"


def test_an_empty_object_selects_everything_and_none_is_no_selector() -> None:
    selector = label_selector({})
    assert selector is not None
    assert selector.empty
    assert selector.matches({})
    assert label_selector(None) is None


def test_an_object_renders_as_a_query() -> None:
    assert render_label_selector({"matchLabels": {"b": "2", "a": "1"}}) == "a=1,b=2"
    assert render_label_selector({}) == ""
    assert render_label_selector(None) == ""


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ({"key": "x", "operator": "Near"}, '"Near" is not a valid label selector operator'),
        (
            {"key": "x", "operator": "In"},
            "values: Invalid value: []: for 'in', 'notin' operators, values set",
        ),
        (
            {"key": "x", "operator": "Exists", "values": ["a"]},
            'values: Invalid value: ["a"]: values set must be empty',
        ),
        ({"operator": "Exists"}, 'key: Invalid value: "": name part must be non-empty'),
    ],
)
def test_an_object_that_makes_no_sense_is_refused(expression: dict[str, object], message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        label_selector({"matchExpressions": [expression]})
    assert str(caught.value).startswith(message)
