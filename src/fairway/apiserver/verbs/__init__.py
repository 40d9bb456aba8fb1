"""One file per verb; each takes the API and a call and gives an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.verbs.create import create
from fairway.apiserver.verbs.delete import delete, delete_collection
from fairway.apiserver.verbs.get import get
from fairway.apiserver.verbs.list import list_objects
from fairway.apiserver.verbs.patch import patch
from fairway.apiserver.verbs.update import update
from fairway.apiserver.verbs.watch import watch
from fairway.httpserver.messages import Answer

Verb = Callable[[Api, Call], Awaitable[Answer]]

VERBS: Mapping[str, Verb] = {
    "create": create,
    "delete": delete,
    "deletecollection": delete_collection,
    "get": get,
    "list": list_objects,
    "patch": patch,
    "update": update,
    "watch": watch,
}
