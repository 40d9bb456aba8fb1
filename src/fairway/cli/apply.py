"""`fairway apply`: manifests become objects, by server-side apply."""

from __future__ import annotations

import sys

import click
import uvloop

from fairway.cli import manifests
from fairway.cli.catalog import Catalog, qualified_name, read_catalog
from fairway.cli.connection import connected, kubeconfig_option, namespace_option, server_error
from fairway.client import ApiError, Client, NotFound

FIELD_MANAGER = "fairway-apply"


@click.command(help="Create or change objects from manifests: fairway apply -f FILE|FOLDER|-")
@kubeconfig_option
@namespace_option
@manifests.files_option
@manifests.recursive_option
@click.option("--dry-run", is_flag=True, help="let the server check, and change nothing")
def command(
    kubeconfig: str | None, namespace: str, files: tuple[str, ...], recursive: bool, dry_run: bool
) -> None:
    if not files:
        raise click.UsageError("must specify -f")
    objects = manifests.read(files, recursive)

    async def work(client: Client) -> int:
        catalog = await read_catalog(client)
        failed = 0
        for obj in objects:
            try:
                click.echo(await applied(client, catalog, obj, namespace, dry_run))
            except ApiError as error:
                failed = server_error(error)
        return failed

    sys.exit(uvloop.run(connected(kubeconfig, "apply", work)))


async def applied(
    client: Client, catalog: Catalog, obj: manifests.Obj, namespace: str, dry_run: bool = False
) -> str:
    """What kubectl would say of it. What others have set in fields of ours is overruled, as there."""
    resource = catalog.of_kind(obj["apiVersion"], obj["kind"])
    metadata = obj.get("metadata") or {}
    name = metadata.get("name")
    if not name:
        raise click.ClickException(f"a {obj['kind']} has no metadata.name")
    where = (metadata.get("namespace") or namespace) if resource.namespaced else None
    try:
        before = (await client.get(resource, name, namespace=where))["metadata"]["resourceVersion"]
    except NotFound:
        before = ""
    after = await client.patch(
        resource,
        name,
        obj,
        namespace=where,
        kind="apply",
        field_manager=FIELD_MANAGER,
        force=True,
        dry_run=dry_run,
    )
    changed = after["metadata"]["resourceVersion"] != before
    what = ("configured" if changed else "unchanged") if before else "created"
    return f"{qualified_name(resource, name)} {what}{' (server dry run)' if dry_run else ''}"
