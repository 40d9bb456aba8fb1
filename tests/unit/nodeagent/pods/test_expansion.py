import pytest

from fairway.nodeagent.pods.expansion import expand


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(HOST):$(PORT)", "10.0.0.1:80"),
        ("$(NOPE) stays", "$(NOPE) stays"),
        ("$$(HOST)", "$(HOST)"),
        ("$$$(HOST)", "$10.0.0.1"),
        ("a$$b", "a$b"),
        ("cost: 5$", "cost: 5$"),
        ("$(HOST", "$(HOST"),
        ("$HOST ${HOST}", "$HOST ${HOST}"),
        ("$()", "$()"),
    ],
)
def test_references_expand_as_kubernetes_expands_them(text: str, expanded: str) -> None:
    assert expand(text, {"HOST": "10.0.0.1", "PORT": "80"}) == expanded


def test_a_value_is_not_expanded_again() -> None:
    assert expand("$(A)", {"A": "$(B)", "B": "no"}) == "$(B)"
