"""pods/eviction: a deletion that asks the Pod's disruption budget first."""

from __future__ import annotations

from dataclasses import replace

from fairway.api.errors import StatusError, bad_request, forbidden, too_many_requests
from fairway.api.kind import Kind, Obj
from fairway.api.kinds.policy import POD_DISRUPTION_BUDGET
from fairway.api.metadata import timestamp
from fairway.api.resources import Resource
from fairway.api.selectors import label_selector
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.decode import decode_object
from fairway.apiserver.deletion import Options, demand
from fairway.apiserver.options import check_writing
from fairway.apiserver.parts import STATUS, Part
from fairway.apiserver.pod_conditions import is_ready, set_condition
from fairway.apiserver.respond import document_answer
from fairway.apiserver.subresources.binding import SUCCESS
from fairway.apiserver.tracking import note_nothing, noted_as
from fairway.apiserver.verbs.delete import checked_options, delete_entry
from fairway.apiserver.verbs.get import found
from fairway.httpserver import Response

EVICTION = Resource("policy", "v1", "evictions", "Eviction")
BUDGET = Resource("policy", "v1", "poddisruptionbudget", "PodDisruptionBudget")
DISRUPTED = Part("status")
MOST_DISRUPTED = 2000
VIOLATED = "Cannot evict pod as it would violate the pod's disruption budget."


async def evict(api: Api, call: Call) -> Response:
    check_writing(call)
    eviction = decode_object(call, EVICTION)
    if eviction["metadata"].get("name", call.name) != call.name:
        raise bad_request("name in URL does not match name in Eviction object")
    options = checked_options(eviction.get("deleteOptions") or {})
    options = replace(options, dry_run=options.dry_run or call.dry_run)
    pod = found(api, call).obj()
    if not _is_free(pod):
        await _ask_budget(api, call, pod, options)
    await _delete(api, call, options)
    return document_answer(call, SUCCESS, 201)


def _is_free(pod: Obj) -> bool:
    """A Pod that does no work, or is ending anyway, disrupts nothing by going."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or bool(pod["metadata"].get("deletionTimestamp"))


async def _delete(api: Api, call: Call, options: Options) -> None:
    """First it is said in the Pod why it goes."""
    if not options.dry_run:
        now = timestamp(api.committer.clock())
        target = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }

        def mark(pod: Obj) -> Obj:
            demand(call.kind.resource, pod, options)
            set_condition(pod, target, now)
            return pod

        written = await api.committer.update(call.kind, call.key, mark, part=DISRUPTED, track=note_nothing)
        if options.resource_version and written.entry:
            options = replace(options, resource_version=str(written.entry.revision))
    await delete_entry(api, call.kind, call.key, options)


async def _ask_budget(api: Api, call: Call, pod: Obj, options: Options) -> None:
    budgets = _budgets(api, call, pod)
    if len(budgets) > 1:
        message = (
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
        raise StatusError(500, "", message)
    if not budgets:
        return
    budget = budgets[0]
    if not is_ready(pod) and _may_take_unready(budget):
        return
    now = timestamp(api.committer.clock())

    def spend(current: Obj) -> Obj:
        return _spent(current, call.name, now)

    key = f"{call.namespace}/{budget['metadata']['name']}"
    kind: Kind = POD_DISRUPTION_BUDGET
    await api.committer.update(
        kind, key, spend, part=STATUS, track=noted_as("kube-apiserver"), dry_run=options.dry_run
    )


def _budgets(api: Api, call: Call, pod: Obj) -> list[Obj]:
    labels = pod["metadata"].get("labels")
    if not labels:
        return []
    bucket = api.store.bucket(POD_DISRUPTION_BUDGET.resource)
    all_here = [entry.obj() for entry in bucket.in_order(call.namespace)]
    selectors = [label_selector((budget.get("spec") or {}).get("selector")) for budget in all_here]
    return [
        budget for budget, s in zip(all_here, selectors, strict=True) if s is not None and s.matches(labels)
    ]


def _may_take_unready(budget: Obj) -> bool:
    """A Pod that is not ready counts for nothing; with the usual policy it may go if the others suffice."""
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    return bool(status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0)


def _spent(budget: Obj, pod: str, now: str) -> Obj:
    """The budget with one disruption less; raises 429 if it has none."""
    name, status = budget["metadata"]["name"], budget.setdefault("status", {})
    allowed = status.get("disruptionsAllowed", 0)
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _violated(f"The disruption budget {name} is still being processed by the server.", 10)
    if allowed < 0:
        raise forbidden(BUDGET, name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or {}) > MOST_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden(BUDGET, name, why)
    if allowed == 0:
        raise _violated(_why_not(name, status))
    status["disruptionsAllowed"] = allowed - 1
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod: now}
    if allowed == 1:
        _set_exhausted(status, now)
    return budget


def _why_not(name: str, status: Obj) -> str:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "DisruptionAllowed" and condition.get("reason") == "SyncFailed":
            return (
                f"The disruption budget {name} does not allow evicting pods currently because it failed sync:"
                f" {condition.get('message', '')}"
            )
    return (
        f"The disruption budget {name} needs {status.get('desiredHealthy', 0)} healthy pods"
        f" and has {status.get('currentHealthy', 0)} currently"
    )


def _set_exhausted(status: Obj, now: str) -> None:
    condition = {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": status.get("observedGeneration", 0),
        "lastTransitionTime": now,
        "reason": "InsufficientPods",
        "message": "",
    }
    others = [each for each in status.get("conditions") or () if each.get("type") != "DisruptionAllowed"]
    status["conditions"] = [*others, condition]


def _violated(why: str, seconds: int = 0) -> StatusError:
    return too_many_requests(VIOLATED, {"reason": "DisruptionBudget", "message": why}, seconds)
