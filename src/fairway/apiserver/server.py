"""One request, top to bottom: public paths, then who asks, then what for, then the verb.

Here and nowhere else errors become answers.
"""

from __future__ import annotations

from dataclasses import replace

import structlog

from fairway.api.errors import StatusError, internal_error, method_not_allowed, path_not_found
from fairway.api.kind import Obj
from fairway.api.schema.openapi import OpenApi
from fairway.apiserver.api import Api
from fairway.apiserver.authenticate import is_public
from fairway.apiserver.call import Call, User
from fairway.apiserver.discovery import AGGREGATED, Discovery, version
from fairway.apiserver.encoding import encode
from fairway.apiserver.health import NOT_FOUND, health_answer
from fairway.apiserver.negotiate import PRODUCED, STREAMED, Form, demand_known_type, described_form
from fairway.apiserver.openapi import openapi_answer
from fairway.apiserver.options import check_timeout
from fairway.apiserver.respond import bytes_answer, status_answer, wants_pretty
from fairway.apiserver.reviews import REVIEWS
from fairway.apiserver.route import Routes
from fairway.apiserver.subresources import subresource_of
from fairway.apiserver.subresources.binding import bind
from fairway.apiserver.verbs import VERBS
from fairway.httpserver import Request, Response
from fairway.httpserver.messages import Answer

log = structlog.get_logger()

# Subresources that connect the client with something else, which then speaks whatever it speaks.
CONNECTIONS = ("attach", "exec", "log", "portforward", "proxy")


class ApiServer:
    def __init__(self, api: Api, routes: Routes, discovery: Discovery, openapi: OpenApi) -> None:
        self._api = api
        self._routes = routes
        self._discovery = discovery
        self._openapi = openapi
        self.stopping = False

    async def handle(self, request: Request) -> Answer:
        try:
            if is_public(request.raw_path.rstrip("/")):  # client libraries ask for /version/
                return self._public(request)
            user = self._api.authenticator.user(request)
            return await self._answer(request, user)
        except StatusError as error:
            return status_answer(error, request)
        except Exception as error:
            log.exception("request failed", method=request.method, target=request.target)
            return status_answer(internal_error(f"{type(error).__name__}: {error}"), request)

    def _public(self, request: Request) -> Response:
        if request.raw_path.rstrip("/") == "/version":
            if request.method != "GET":
                raise method_not_allowed()
            return bytes_answer(Form(pretty=wants_pretty(request)), encode(version()), 200, ())
        return health_answer(request.path, request.query(), self.stopping)

    async def _answer(self, request: Request, user: User) -> Answer:
        path = request.path
        if not self._routes.knows_group(path):
            return NOT_FOUND
        if path.startswith(("/api/", "/apis/")) and path.strip("/").count("/") >= (
            2 if path.startswith("/api/") else 3
        ):
            return await self._resource(request, user)
        return self._document(request, path) or NOT_FOUND

    def _document(self, request: Request, path: str) -> Response | None:
        """Discovery and other descriptions of the server itself."""
        accept = request.headers.get("accept", "")
        document = self._discovery.answer(path, accept)
        if document:
            if request.method != "GET":
                raise method_not_allowed()
            return _described(request, *document)
        if path.startswith("/openapi/"):
            found = openapi_answer(self._openapi, request)
            if found:
                return found
        if path == "/openid/v1/jwks":
            return Response(200, encode(self._api.tokens.key_set()), "application/jwk-set+json")
        if path == "/.well-known/openid-configuration":
            base = f"https://{request.headers.get('host', '')}"
            return Response(200, encode(self._api.tokens.configuration(base)))
        if path.startswith(("/api/", "/apis/")):
            raise path_not_found()
        return None

    async def _resource(self, request: Request, user: User) -> Answer:
        call = self._routes.call(request)
        call.user = user
        if call.kind.deprecation:
            call.warnings.append(call.kind.deprecation)
        try:
            check_call(call)
            return await self._answer_call(call)
        except StatusError as error:
            return status_answer(error, request, call.warnings)

    async def _answer_call(self, call: Call) -> Answer:
        if not call.kind.stored:
            return await (REVIEWS.get(call.kind.resource) or bind)(self._api, call)
        if call.subresource:
            if subresource := subresource_of(call):
                return await subresource(self._api, call)
            if call.subresource != "status":
                raise path_not_found()
        return await VERBS[call.verb](self._api, call)


def _described(request: Request, document: Obj, content_type: str) -> Response:
    """A document of discovery in the form asked for. The paths below the root come in none but JSON."""
    if content_type == AGGREGATED or request.path == "/":
        return Response(200, encode(document), content_type)
    accept = request.headers.get("accept", "")
    if request.path.strip("/") != "apis":
        demand_known_type(accept, PRODUCED)
    form = described_form(accept)
    if wants_pretty(request):
        form = replace(form, pretty=True)
    return bytes_answer(form, encode(document), 200, ())


def check_call(call: Call) -> None:
    """What can be refused before anyone looks at the object."""
    if call.subresource in CONNECTIONS:
        return
    produced = STREAMED if call.verb in ("list", "watch") else PRODUCED
    demand_known_type(call.request.headers.get("accept", ""), produced)
    if call.verb != "watch" and "timeout" in call.params:
        check_timeout(call)
