"""One request, top to bottom: public paths, then who asks, then what for, then the verb.

Here and nowhere else errors become answers.
"""

from __future__ import annotations

import structlog

from fairway.api.errors import StatusError, internal_error, method_not_allowed, path_not_found
from fairway.api.schema.openapi import OpenApi
from fairway.apiserver.api import Api
from fairway.apiserver.authenticate import Authenticator, is_public
from fairway.apiserver.call import Call, User
from fairway.apiserver.discovery import Discovery, version
from fairway.apiserver.encoding import encode
from fairway.apiserver.openapi import openapi_answer
from fairway.apiserver.respond import status_answer
from fairway.apiserver.route import Routes
from fairway.apiserver.subresources import subresource_of
from fairway.apiserver.verbs import VERBS
from fairway.httpserver import Request, Response
from fairway.httpserver.messages import Answer

log = structlog.get_logger()


class ApiServer:
    def __init__(
        self,
        api: Api,
        routes: Routes,
        discovery: Discovery,
        authenticator: Authenticator,
        openapi: OpenApi,
    ) -> None:
        self._api = api
        self._routes = routes
        self._discovery = discovery
        self._authenticator = authenticator
        self._openapi = openapi

    async def handle(self, request: Request) -> Answer:
        try:
            if is_public(request.raw_path):
                return public_answer(request)
            user = self._authenticator.user(request)
            return await self._answer(request, user)
        except StatusError as error:
            return status_answer(error)
        except Exception as error:
            log.exception("request failed", method=request.method, target=request.target)
            return status_answer(internal_error(f"{type(error).__name__}: {error}"))

    async def _answer(self, request: Request, user: User) -> Answer:
        path = request.path
        if path.startswith(("/api/", "/apis/")) and path.strip("/").count("/") >= (
            2 if path.startswith("/api/") else 3
        ):
            return await self._resource(request, user)
        accept = request.headers.get("accept", "")
        document = self._discovery.answer(path, accept)
        if document:
            if request.method not in ("GET", "HEAD"):
                raise method_not_allowed()
            return Response(200, encode(document[0]), document[1])
        if path.startswith("/openapi/"):
            found = openapi_answer(self._openapi, request)
            if found:
                return found
        if path.startswith(("/api/", "/apis/")):
            raise path_not_found()
        return Response(404, b"404 page not found\n", "text/plain; charset=utf-8")

    async def _resource(self, request: Request, user: User) -> Answer:
        call = self._routes.call(request)
        call.user = user
        if call.kind.deprecation:
            call.warnings.append(call.kind.deprecation)
        try:
            return await self._answer_call(call)
        except StatusError as error:
            return status_answer(error, call.warnings)

    async def _answer_call(self, call: Call) -> Answer:
        subresource = subresource_of(call) if call.subresource else None
        if subresource:
            return await subresource(self._api, call)
        if call.verb not in call.kind.verbs and not call.subresource:
            raise method_not_allowed()
        return await VERBS[call.verb](self._api, call)


def public_answer(request: Request) -> Response:
    if request.raw_path == "/version":
        return Response(200, encode(version()))
    return Response(200, b"ok", "text/plain; charset=utf-8")
