"""`fairway get`: objects as kubectl shows them."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import click
import msgspec
import uvloop

from fairway.api.resources import Resource
from fairway.cli import printing
from fairway.cli.catalog import qualified_name, read_catalog
from fairway.cli.connection import connected, kubeconfig_option, namespace_options, server_error
from fairway.cli.selection import Selected, select
from fairway.client import ApiError, Client

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@dataclass(frozen=True, slots=True)
class Question:
    namespace: str
    everywhere: bool
    output: str
    label_selector: str
    field_selector: str
    headers: bool
    show_labels: bool
    watch: bool

    def params(self) -> dict[str, str]:
        wanted = {"labelSelector": self.label_selector, "fieldSelector": self.field_selector}
        return {name: value for name, value in wanted.items() if value}

    def path(self, selected: Selected) -> str:
        return selected.resource.path(None if self.everywhere else self.namespace, selected.name or None)


@click.command(help="Show objects: fairway get TYPE [NAME…], TYPE/NAME…; TYPE may be `all`.")
@kubeconfig_option
@namespace_options
@click.option("-o", "--output", default="", type=click.Choice(["", "wide", "yaml", "json", "name"]))
@click.option("-l", "--selector", default="", help="only objects with these labels")
@click.option("--field-selector", default="", help="only objects with these fields")
@click.option("-w", "--watch", is_flag=True, help="go on showing changes")
@click.option("--no-headers", is_flag=True)
@click.option("--show-labels", is_flag=True)
@click.argument("words", nargs=-1, required=True)
def command(
    kubeconfig: str | None,
    namespace: str,
    everywhere: bool,
    output: str,
    selector: str,
    field_selector: str,
    watch: bool,
    no_headers: bool,
    show_labels: bool,
    words: tuple[str, ...],
) -> None:
    question = Question(
        namespace, everywhere, output, selector, field_selector, not no_headers, show_labels, watch
    )

    async def work(client: Client) -> int:
        selected = select(await read_catalog(client), words)
        if output in ("yaml", "json", "name"):
            return await _show_objects(client, question, selected)
        return await _show_tables(client, question, selected)

    sys.exit(uvloop.run(connected(kubeconfig, "get", work)))


async def _show_objects(client: Client, question: Question, selected: list[Selected]) -> int:
    found: list[tuple[Resource, printing.Obj]] = []
    failed = 0
    for each in selected:
        try:
            answer = await client.request("GET", question.path(each), params=question.params())
        except ApiError as error:
            failed += server_error(error)
            continue
        found += [(each.resource, obj) for obj in _objects(each, msgspec.json.decode(answer))]
    if question.output == "name":
        for resource, obj in found:
            click.echo(qualified_name(resource, obj["metadata"]["name"]))
    elif found or not failed:
        objects = [printing.shown(obj) for _, obj in found]
        whole = objects[0] if len(selected) == 1 and selected[0].name else printing.as_list(objects)
        click.echo(
            printing.as_yaml(whole) if question.output == "yaml" else printing.as_json(whole), nl=False
        )
    return min(failed, 1)


def _objects(selected: Selected, answer: printing.Obj) -> list[printing.Obj]:
    """Items of a list don't say what they are; on their own they have to."""
    if selected.name:
        return [answer]
    resource = selected.resource
    identity = {"apiVersion": resource.api_version, "kind": resource.kind}
    return [identity | item for item in answer.get("items") or ()]


async def _show_tables(client: Client, question: Question, selected: list[Selected]) -> int:
    """Objects of one kind in one table; several kinds one after the other, with their kind in the name."""
    kinds = list(dict.fromkeys(each.resource for each in selected))
    shown = failed = 0
    for resource in kinds:
        rows: list[list[str]] = []
        version = ""
        for each in (one for one in selected if one.resource == resource):
            try:
                answer = await client.request(
                    "GET", question.path(each), params=question.params(), accept=TABLE
                )
            except ApiError as error:
                failed += server_error(error)
                continue
            table = msgspec.json.decode(answer)
            version = (table.get("metadata") or {}).get("resourceVersion", "")
            rows += _rows(question, resource, table, len(kinds) > 1, headers=not rows)
        if len(rows) > int(question.headers):
            click.echo(("\n" if shown else "") + printing.aligned(rows), nl=False)
            shown += 1
        if question.watch:
            await _watch(client, question, Selected(resource), version, rows)
    if not shown and not failed:
        where = (
            "" if question.everywhere or not kinds[0].namespaced else f" in {question.namespace} namespace"
        )
        click.echo(f"No resources found{where}{'.' if where else ''}", err=True)
    return min(failed, 1)


def _rows(
    question: Question, resource: Resource, table: printing.Obj, prefixed: bool, headers: bool
) -> list[list[str]]:
    return printing.table_rows(
        table,
        wide=question.output == "wide",
        namespaces=question.everywhere and resource.namespaced,
        prefix=resource if prefixed else None,
        headers=headers and question.headers,
        labels=question.show_labels,
    )


async def _watch(
    client: Client, question: Question, selected: Selected, version: str, before: list[list[str]]
) -> None:
    """Each change as a line in the columns of the table before it, until interrupted."""
    widths: list[int] = []
    printing.aligned(before, widths)
    params = question.params() | {"watch": "true", "resourceVersion": version}
    columns: list[printing.Obj] = []
    rest = b""
    async with client.stream(question.path(selected), params=params, accept=TABLE) as chunks:
        async for chunk in chunks:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in filter(None, lines):
                table = msgspec.json.decode(line)["object"]
                # Only the first event of a watch carries the columns.
                columns = table.get("columnDefinitions") or columns
                rows = _rows(
                    question, selected.resource, table | {"columnDefinitions": columns}, False, headers=False
                )
                click.echo(printing.aligned(rows, widths), nl=False)
