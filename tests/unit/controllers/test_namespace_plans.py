"""What every namespace has, and what a namespace that is going still needs."""

from __future__ import annotations

from fairway.api.objects import ObjectMeta
from fairway.controllers.namespace.plan import is_held, remaining_condition, without_finalizer
from fairway.controllers.namespaces import Namespace, NamespaceSpec
from fairway.controllers.rootca import plan as rootca
from fairway.controllers.rootca.plan import ConfigMap
from fairway.controllers.serviceaccount.plan import plan as accounts
from fairway.controllers.writes import Create, Patch

from .objects import NOW

SHOP = Namespace(ObjectMeta(name="shop"), NamespaceSpec(["kubernetes"]))
GOING = Namespace(ObjectMeta(name="shop", deletion_timestamp="now"), NamespaceSpec(["kubernetes"]))


def test_a_namespace_gets_its_default_account_once() -> None:
    (write,) = accounts(SHOP, has_default=False).writes
    assert isinstance(write, Create)
    assert write.obj["metadata"] == {"name": "default", "namespace": "shop"}
    assert not accounts(SHOP, has_default=True)


def test_a_namespace_that_is_going_gets_nothing_more() -> None:
    assert not accounts(GOING, has_default=False)
    assert not rootca.plan(GOING, None, "CA")
    assert not accounts(None, has_default=False)


def test_a_namespace_gets_the_certificate_authority() -> None:
    (write,) = rootca.plan(SHOP, None, "CA").writes
    assert isinstance(write, Create)
    assert write.obj["data"] == {"ca.crt": "CA"}


def test_a_changed_certificate_authority_is_put_right() -> None:
    notes = {rootca.DESCRIPTION: rootca.DESCRIPTION_TEXT}
    meta = ObjectMeta(name=rootca.NAME, namespace="shop", annotations=notes)
    assert not rootca.plan(SHOP, ConfigMap(meta, {"ca.crt": "CA"}), "CA")
    (write,) = rootca.plan(SHOP, ConfigMap(meta, {"ca.crt": "old", "more": "x"}), "CA").writes
    assert isinstance(write, Patch)
    assert write.patch["data"] == {"ca.crt": "CA", "more": None}


def test_only_a_namespace_that_is_going_and_held_by_us_is_emptied() -> None:
    assert is_held(GOING)
    assert not is_held(SHOP)
    assert not is_held(Namespace(GOING.metadata, NamespaceSpec(["example.com/other"])))


def test_letting_go_keeps_the_finalizers_of_others() -> None:
    body = {"metadata": {"name": "shop"}, "spec": {"finalizers": ["kubernetes", "example.com/other"]}}
    assert without_finalizer(body)["spec"] == {"finalizers": ["example.com/other"]}


def test_what_is_waited_for_is_said() -> None:
    patch = remaining_condition(GOING, {"pods": 2}, NOW)
    (condition,) = patch.patch["status"]["conditions"]
    assert condition["message"] == "Some resources are remaining: pods has 2 resource instances"
