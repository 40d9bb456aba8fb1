"""What kinds the server has, asked for once a command, and what the names people type for them mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import msgspec

from fairway.api.resources import Resource
from fairway.client import Client

DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


class Catalog:
    """In the server's order: of two kinds that share a name, the first is meant."""

    def __init__(self, resources: Sequence[Resource]) -> None:
        self._resources = list(resources)

    def of_kind(self, api_version: str, kind: str) -> Resource:
        """The one a manifest names."""
        for resource in self._resources:
            if (resource.api_version, resource.kind) == (api_version, kind):
                return resource
        raise click.ClickException(f'no matches for kind "{kind}" in version "{api_version}"')

    def named(self, text: str) -> list[Resource]:
        """`po`, `pods`, `Pod`, `deployments.apps`, or a category such as `all`."""
        name, _, group = text.lower().partition(".")
        for resource in self._resources:
            names = (resource.plural, resource.singular, *resource.short_names)
            if name in names and group in ("", resource.group, f"{resource.version}.{resource.group}"):
                return [resource]
        if found := [resource for resource in self._resources if text in resource.categories]:
            return found
        raise click.ClickException(f'the server doesn\'t have a resource type "{text}"')


async def read_catalog(client: Client) -> Catalog:
    resources: list[Resource] = []
    for path in ("/api", "/apis"):
        answer = msgspec.json.decode(await client.request("GET", path, accept=DISCOVERY))
        for group in answer.get("items") or ():
            # The first version of a group is the preferred one, the others say the same in other words.
            for version in group["versions"][:1]:
                resources += [_resource(group, version, each) for each in version.get("resources") or ()]
    return Catalog(resources)


def _resource(group: dict[str, Any], version: dict[str, Any], each: dict[str, Any]) -> Resource:
    return Resource(
        group.get("metadata", {}).get("name", ""),
        version["version"],
        each["resource"],
        each["responseKind"]["kind"],
        each["scope"] == "Namespaced",
        tuple(each.get("shortNames") or ()),
        tuple(each.get("categories") or ()),
    )


def qualified_name(resource: Resource, name: str) -> str:
    """`pod/web`, `deployment.apps/web`: how kubectl names single objects."""
    return f"{resource.singular}.{resource.group}/{name}" if resource.group else f"{resource.singular}/{name}"
