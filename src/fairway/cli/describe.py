"""`fairway describe`: all there is to know of objects, their Events included."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import click
import uvloop

from fairway.api.resources import (
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    ENDPOINTS,
    EVENTS,
    LEASES,
    NODES,
    PODS,
    REPLICA_SETS,
    SERVICES,
    Resource,
)
from fairway.cli.catalog import read_catalog
from fairway.cli.connection import connected, kubeconfig_option, namespace_options, server_error
from fairway.cli.description import deployment, endpoints, generic, node, pod, service
from fairway.cli.description.text import Obj, Writer, events
from fairway.cli.selection import Selected, select
from fairway.client import ApiError, Client, NotFound


@click.command(help="Show all there is to know: fairway describe TYPE [NAME…], TYPE/NAME…")
@kubeconfig_option
@namespace_options
@click.option("-l", "--selector", default="", help="only objects with these labels")
@click.argument("words", nargs=-1, required=True)
def command(
    kubeconfig: str | None, namespace: str, everywhere: bool, selector: str, words: tuple[str, ...]
) -> None:
    async def work(client: Client) -> int:
        failed = described = 0
        for each in select(await read_catalog(client), words):
            try:
                for obj in await _objects(client, each, None if everywhere else namespace, selector):
                    click.echo(
                        ("\n\n" if described else "") + await _described(client, each.resource, obj), nl=False
                    )
                    described += 1
            except ApiError as error:
                failed = server_error(error)
        if not described and not failed:
            click.echo(f"No resources found in {namespace} namespace.", err=True)
        return failed

    sys.exit(uvloop.run(connected(kubeconfig, "describe", work)))


async def _objects(client: Client, each: Selected, namespace: str | None, selector: str) -> list[Obj]:
    where = namespace if each.resource.namespaced else None
    if each.name:
        return [await client.get(each.resource, each.name, namespace=where)]
    identity = {"apiVersion": each.resource.api_version, "kind": each.resource.kind}
    return [
        identity | obj
        for obj in (await client.list(each.resource, namespace=where, label_selector=selector)).items
    ]


async def _described(client: Client, resource: Resource, obj: Obj) -> str:
    writer, now = Writer(), datetime.now(UTC)
    namespace, name = obj["metadata"].get("namespace"), obj["metadata"]["name"]
    if resource == PODS:
        pod.describe(writer, obj)
    elif resource == SERVICES:
        label = f"kubernetes.io/service-name={name}"
        slices = await client.list(ENDPOINT_SLICES, namespace=namespace, label_selector=label)
        service.describe(writer, obj, slices.items)
    elif resource == DEPLOYMENTS:
        deployment.describe(writer, obj, (await client.list(REPLICA_SETS, namespace=namespace)).items)
    elif resource == ENDPOINTS:
        endpoints.describe(writer, obj)
    elif resource == NODES:
        pods = await client.list(PODS, field_selector=f"spec.nodeName={name}")
        node.describe(writer, obj, await _lease(client, name), pods.items, now)
    else:
        generic.describe(writer, obj)
    events(writer, await _events(client, obj), now)
    return writer.text()


async def _lease(client: Client, node_name: str) -> Obj | None:
    try:
        return await client.get(LEASES, node_name, namespace="kube-node-lease")
    except NotFound:
        return None


async def _events(client: Client, obj: Obj) -> list[Obj]:
    metadata = obj["metadata"]
    fields = [f"involvedObject.name={metadata['name']}", f"involvedObject.uid={metadata.get('uid', '')}"]
    found = await client.list(EVENTS, namespace=metadata.get("namespace"), field_selector=",".join(fields))
    return found.items
