"""`fairway delete`: objects by name, by label or by manifest, waiting until they are gone."""

from __future__ import annotations

import asyncio
import sys

import click
import uvloop

from fairway.api.resources import Resource
from fairway.cli import manifests
from fairway.cli.catalog import Catalog, read_catalog
from fairway.cli.connection import connected, kubeconfig_option, namespace_option, server_error
from fairway.cli.selection import select
from fairway.client import ApiError, Client, NotFound

PAUSE = 0.1
Target = tuple[Resource, str | None, str]
"""A kind, a namespace, a name."""


@click.command(help="Delete objects: fairway delete TYPE NAME…, TYPE -l LABELS, TYPE --all, -f FILE")
@kubeconfig_option
@namespace_option
@manifests.files_option
@manifests.recursive_option
@click.option("-l", "--selector", default="", help="all objects with these labels")
@click.option("--all", "everything", is_flag=True, help="all objects of that type in the namespace")
@click.option("--ignore-not-found", is_flag=True)
@click.option("--grace-period", type=int, help="seconds that Pods are given to end")
@click.option("--wait/--no-wait", default=True, help="until they are gone (the default)")
@click.argument("words", nargs=-1)
def command(
    kubeconfig: str | None,
    namespace: str,
    files: tuple[str, ...],
    recursive: bool,
    selector: str,
    everything: bool,
    ignore_not_found: bool,
    grace_period: int | None,
    wait: bool,
    words: tuple[str, ...],
) -> None:
    objects = manifests.read(files, recursive) if files else []

    async def work(client: Client) -> int:
        catalog = await read_catalog(client)
        targets = [_target(catalog, obj, namespace) for obj in objects]
        if words:
            targets += await _named(client, catalog, words, namespace, selector, everything)
        if not targets and not (selector or everything):
            raise click.UsageError("say what: TYPE NAME, TYPE -l LABELS, TYPE --all, or -f FILE")
        failed = 0
        leaving: list[tuple[Target, str]] = []
        for target in targets:
            try:
                leaving.append((target, await _delete(client, target, grace_period)))
            except ApiError as error:
                if not (ignore_not_found and isinstance(error, NotFound)):
                    failed = server_error(error)
        for target, uid in leaving if wait else ():
            await _gone(client, target, uid)
        return failed

    sys.exit(uvloop.run(connected(kubeconfig, "delete", work)))


def _target(catalog: Catalog, obj: manifests.Obj, namespace: str) -> Target:
    resource = catalog.of_kind(obj["apiVersion"], obj["kind"])
    metadata = obj.get("metadata") or {}
    where = (metadata.get("namespace") or namespace) if resource.namespaced else None
    return resource, where, metadata.get("name", "")


async def _named(
    client: Client, catalog: Catalog, words: tuple[str, ...], namespace: str, selector: str, everything: bool
) -> list[Target]:
    targets: list[Target] = []
    for each in select(catalog, words):
        where = namespace if each.resource.namespaced else None
        if each.name:
            targets.append((each.resource, where, each.name))
        elif selector or everything:
            found = await client.list(each.resource, namespace=where, label_selector=selector)
            targets += [(each.resource, where, obj["metadata"]["name"]) for obj in found.items]
        else:
            raise click.UsageError("resource(s) were provided, but no name was specified")
    return targets


async def _delete(client: Client, target: Target, grace_period: int | None) -> str:
    """The uid of what is leaving."""
    resource, namespace, name = target
    answer = await client.delete(
        resource,
        name,
        namespace=namespace,
        grace_period_seconds=grace_period,
        propagation_policy="Background",
    )
    kind = f"{resource.singular}.{resource.group}" if resource.group else resource.singular
    click.echo(f'{kind} "{name}" deleted')
    details = answer.get("details") or answer.get("metadata") or {}
    return str(details.get("uid", ""))


async def _gone(client: Client, target: Target, uid: str) -> None:
    """Until it is, or another has its name."""
    resource, namespace, name = target
    while True:
        try:
            found = await client.get(resource, name, namespace=namespace)
        except NotFound:
            return
        if uid and found["metadata"]["uid"] != uid:
            return
        await asyncio.sleep(PAUSE)
