"""serviceaccounts/token: a token for an account, for a while, bound to a Pod or a Secret if asked."""

from __future__ import annotations

from datetime import timedelta

from fairway.api.errors import bad_request, conflict, not_found
from fairway.api.kind import Obj
from fairway.api.kinds.pod.service_account import TOKEN_SECONDS
from fairway.api.metadata import timestamp
from fairway.api.resources import NODES, PODS, SECRETS, Resource
from fairway.api.validation.fields import ErrorList, invalid, invalid_value
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.decode import decode_object
from fairway.apiserver.options import check_writing
from fairway.apiserver.respond import object_answer
from fairway.apiserver.service_account_tokens import Identity, Reference
from fairway.apiserver.verbs.get import found
from fairway.httpserver import Response

TOKEN_REQUEST = Resource("authentication.k8s.io", "v1", "tokenrequests", "TokenRequest")
SHORTEST, LONGEST, USUAL = 600, 1 << 32, 3600
EXTENDED = 365 * 24 * 3600
"""How long the tokens that every Pod gets are good for in truth, should its programs never read them anew."""


async def request_token(api: Api, call: Call) -> Response:
    check_writing(call)
    asked = decode_object(call, TOKEN_REQUEST)
    spec = asked.setdefault("spec", {})
    _demand_place(call, asked["metadata"])
    account = found(api, call).obj()
    now = api.committer.clock()
    spec["audiences"] = spec.get("audiences") or list(api.tokens.audiences)
    given = spec.get("expirationSeconds")
    spec["expirationSeconds"] = seconds = USUAL if given is None else given
    if errors := _errors(seconds):
        raise invalid("TokenRequest", "authentication.k8s.io", "", errors)
    identity = _identity(api, call, account, spec.get("boundObjectRef"))
    usual = identity.pod and seconds == TOKEN_SECONDS and set(spec["audiences"]) <= set(api.tokens.audiences)
    lifetime = EXTENDED if usual else seconds
    answer: Obj = {
        "metadata": {
            "name": call.name,
            "namespace": call.namespace,
            "uid": account["metadata"]["uid"],
            "creationTimestamp": timestamp(now),
        },
        "spec": {**spec, "boundObjectRef": spec.get("boundObjectRef")},
        "status": {
            "token": "" if call.dry_run else api.tokens.issue(identity, lifetime, spec["audiences"]),
            "expirationTimestamp": timestamp(now + timedelta(seconds=seconds)),
        },
    }
    return object_answer(call, answer, 201, TOKEN_REQUEST)


def _demand_place(call: Call, metadata: Obj) -> None:
    for name, expected in (("name", call.name), ("namespace", call.namespace)):
        if metadata.get(name, expected) != expected:
            detail = f"must match the service account {name} if specified"
            error = invalid_value(f"metadata.{name}", metadata[name], detail)
            raise invalid("TokenRequest", "authentication.k8s.io", call.name, [error])


def _errors(seconds: int) -> ErrorList:
    errors: ErrorList = []
    field = "spec.expirationSeconds"
    if seconds < SHORTEST:
        errors.append(invalid_value(field, seconds, "may not specify a duration less than 10 minutes"))
    if seconds > LONGEST:
        errors.append(invalid_value(field, seconds, "may not specify a duration larger than 2^32 seconds"))
    return errors


def _identity(api: Api, call: Call, account: Obj, bound: Obj | None) -> Identity:
    owner = Reference(call.name, account["metadata"]["uid"])
    if bound is None:
        return Identity(call.namespace, owner)
    group, _, version = (bound.get("apiVersion") or "").rpartition("/")
    match group, bound.get("kind", ""):
        case "", "Pod":
            return _bound_to_pod(api, call, owner, bound)
        case "", "Secret":
            secret = _bound(api, SECRETS, call.namespace, bound)
            return Identity(call.namespace, owner, secret=_reference(secret))
        case "", "Node":
            return Identity(call.namespace, owner, node=_reference(_bound(api, NODES, "", bound)))
        case _, kind:
            raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")


def _bound_to_pod(api: Api, call: Call, owner: Reference, bound: Obj) -> Identity:
    pod = _bound(api, PODS, call.namespace, bound)
    if pod["spec"].get("serviceAccountName") != call.name:
        other = "running with different serviceaccount name."
        raise bad_request(f'cannot bind token for serviceaccount "{call.name}" to pod {other}')
    node = None
    if name := pod["spec"].get("nodeName"):
        entry = api.store.bucket(NODES).entries.get(name)
        node = _reference(entry.obj()) if entry else Reference(name)
    return Identity(call.namespace, owner, pod=_reference(pod), node=node)


def _bound(api: Api, resource: Resource, namespace: str, bound: Obj) -> Obj:
    bucket = api.store.bucket(resource)
    name = bound.get("name", "")
    entry = bucket.entries.get(bucket.key(namespace, name))
    if entry is None:
        raise not_found(resource, name)
    obj = entry.obj()
    if bound.get("uid") and bound["uid"] != obj["metadata"]["uid"]:
        why = (
            f"the UID in the bound object reference ({bound['uid']}) does not match the UID in record."
            " The object might have been deleted and then recreated"
        )
        raise conflict(Resource("", "v1", resource.kind, resource.kind), name, why)
    return obj


def _reference(obj: Obj) -> Reference:
    return Reference(obj["metadata"]["name"], obj["metadata"]["uid"])
