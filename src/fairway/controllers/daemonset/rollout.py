"""How the Pods of a DaemonSet follow a new template: node by node, taking away first or adding first."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairway.api.objects import Pod
from fairway.controllers.daemonset.stage import Stage, remove
from fairway.controllers.pods import is_terminating
from fairway.controllers.writes import Write


@dataclass(frozen=True, slots=True)
class _OnNode:
    """The Pods of a node that stay; `crowded` with several of one kind, which placing will put right."""

    old: Pod | None
    new: Pod | None
    crowded: bool


def update(stage: Stage) -> list[Write]:
    if stage.owner.spec.update_strategy.type != "RollingUpdate":
        return []
    return _add_first(stage) if stage.max_surge else _remove_first(stage)


def _on_node(stage: Stage, node: str) -> _OnNode:
    staying = [pod for pod in stage.pods.get(node, ()) if not is_terminating(pod)]
    new = [pod for pod in staying if stage.is_new(pod)]
    old = [pod for pod in staying if not stage.is_new(pod)]
    crowded = len(new) > 1 or len(old) > 1
    return _OnNode(next(iter(old), None), next(iter(new), None), crowded)


def _remove_first(stage: Stage) -> list[Write]:
    """Old Pods go while no more than maxUnavailable are missing; those that serve nobody go in any case."""
    unavailable = 0
    useless: list[Write] = []
    candidates: list[Write] = []
    for node in sorted({*stage.wanted, *stage.pods}):
        here = _on_node(stage, node)
        only_old = here.old is not None and here.new is None and not here.crowded
        if here.old is not None and only_old and stage.is_available(here.old):
            candidates.append(remove(here.old))
            continue
        if here.old is not None and only_old:
            useless.append(remove(here.old))
        settled = here.new is not None and here.old is None and not here.crowded
        unavailable += not (here.new is not None and settled and stage.is_available(here.new))
    return [*useless, *candidates[: max(0, stage.max_unavailable - unavailable)]]


@dataclass(slots=True)
class _Surge:
    """What a look over the nodes found: nodes that may get a second Pod, and Pods that may go."""

    under_way: int = 0
    available: int = 0
    needy: list[str] = field(default_factory=list)
    candidates: list[str] = field(default_factory=list)
    replaced: list[Write] = field(default_factory=list)
    misplaced: list[Write] = field(default_factory=list)


def _add_first(stage: Stage) -> list[Write]:
    """A second Pod on up to maxSurge nodes at a time; the old one goes when the new one is available.

    Pods that no longer belong on their node stay until enough others are available elsewhere.
    """
    surge = _Surge()
    for node in sorted(stage.nodes & stage.pods.keys()):
        _consider(stage, node, _on_node(stage, node), surge)
    spare = max(0, surge.available - len(stage.wanted))
    room = max(0, stage.max_surge - surge.under_way)
    made = [stage.make(node) for node in (*surge.needy, *surge.candidates[:room])]
    return [*made, *surge.replaced, *surge.misplaced[:spare]]


def _consider(stage: Stage, node: str, here: _OnNode, surge: _Surge) -> None:
    if here.crowded:
        surge.under_way += 1
        return
    foremost = here.old or here.new
    available = foremost is not None and stage.is_available(foremost)
    surge.available += available
    if here.old is None:
        return
    if here.new is not None:
        if stage.is_available(here.new):
            surge.replaced.append(remove(here.old))
        else:
            surge.under_way += 1
    elif node not in stage.wanted:
        (surge.misplaced if available else surge.replaced).append(remove(here.old))
    else:
        (surge.candidates if available else surge.needy).append(node)
