"""The template hash: stable, in Kubernetes' alphabet, blind to what means nothing."""

from __future__ import annotations

from fairway.controllers.podhash import ALPHABET, same_template, template_hash

from .objects import template


def test_the_hash_does_not_change_from_release_to_release() -> None:
    """A changed hash would roll over every Deployment there is."""
    assert template_hash(template()) == "7c89647b54"


def test_the_hash_uses_letters_that_make_no_words() -> None:
    assert set(template_hash(template("app:2"))) <= set(ALPHABET)


def test_absent_empty_and_null_are_the_same() -> None:
    padded = {
        **template(),
        "metadata": {"labels": {"app": "web"}, "annotations": {}, "creationTimestamp": None},
    }
    assert template_hash(padded) == template_hash(template())
    assert same_template(padded, template())


def test_a_collision_makes_another_hash_of_the_same_template() -> None:
    hashes = {template_hash(template(), count) for count in (None, 0, 1, 2)}
    assert len(hashes) == 4


def test_the_hash_label_itself_does_not_count() -> None:
    hashed = template(labels={"app": "web", "pod-template-hash": "abc"})
    assert same_template(hashed, template())
    assert not same_template(hashed, template("app:2"))
