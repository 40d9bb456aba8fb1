"""`fairway dns query`: what a DNS server answers, where that came from, and what a search path costs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from fairway.api.resources import SERVICES
from fairway.cli.connection import connected, find_kubeconfig, kubeconfig_option
from fairway.client import Client, NotFound
from fairway.dns import names, wire
from fairway.dns.ask import Answer, NoAnswer, ask, candidates, shown
from fairway.dns.plugins.forward.options import name_servers
from fairway.dns.rdata import RecordError, rcode_text, type_number, type_text


@click.command(help="Ask a DNS server, and show where the answer came from.")
@click.argument("name")
@click.argument("rdtype", metavar="[TYPE]", default="A")
@click.option("--server", default="", help="default: the cluster's, else that of resolv.conf")
@click.option("--port", default=53, show_default=True)
@kubeconfig_option
@click.option(
    "-n", "--namespace", default="", help="ask as a Pod of this namespace would, by its search path"
)
@click.option("--ndots", default=5, show_default=True, help="with --namespace: as in the Pod's resolv.conf")
@click.option("--zone", default="cluster.local", show_default=True, help="with --namespace")
def query(
    name: str,
    rdtype: str,
    server: str,
    port: int,
    kubeconfig: str | None,
    namespace: str,
    ndots: int,
    zone: str,
) -> None:
    try:
        number = type_number(rdtype.upper())
        names.from_text(name)
    except (RecordError, names.InvalidName) as error:
        raise click.ClickException(str(error)) from None
    to = server or asyncio.run(_cluster_server(kubeconfig)) or _own_server()
    search = [f"{namespace}.svc.{zone}", f"svc.{zone}", zone] if namespace else []
    asked = candidates(name, search, ndots) if namespace else [name.rstrip(".") + "."]
    try:
        found = _walk(to, port, asked, number)
    except NoAnswer as error:
        raise click.ClickException(str(error)) from None
    if namespace:
        _say_cost(name, len(found), ndots)
    if found[-1].reply.rcode:
        raise SystemExit(1)


def _walk(server: str, port: int, asked: list[str], number: int) -> list[Answer]:
    """Asks for one name after the other until one has the records wanted, and shows each answer."""
    found: list[Answer] = []
    for candidate in asked:
        answer = ask(server, port, candidate, number)
        found.append(answer)
        _show(answer, f"{server}:{port}")
        if answer.reply.answer:
            break
    return found


def _show(answer: Answer, server: str) -> None:
    reply = answer.reply
    result = rcode_text(reply.rcode) if reply.rcode or reply.answer else "NOERROR, no such records"
    question = f"{names.to_text(answer.query.name)} {type_text(answer.query.type)}"
    click.echo(f"{question}: {result} ({server}, {answer.protocol}, {answer.seconds * 1000:.1f} ms)")
    for record in (*reply.answer, *(() if reply.answer else reply.authority)):
        click.echo(f"    {shown(record)}")
    for record in reply.additional:
        if record.type != wire.OPT:
            click.echo(f"    {shown(record)}  (additional)")
    origin = answer.origin or "not told: no Fairway server"
    click.echo(f"    from {origin}")


def _say_cost(name: str, count: int, ndots: int) -> None:
    questions = "1 question" if count == 1 else f"{count} questions"
    click.echo(f"{questions} for each type of address (ndots:{ndots})")
    if count > 2:
        click.echo(
            f"`{name}.` with a final dot, a smaller ndots in the Pod's dnsConfig, or autopath cost one"
        )


async def _cluster_server(kubeconfig: str | None) -> str:
    """The virtual IP of the cluster's DNS Service; "" if there is no cluster at hand."""
    try:
        path: Path | None = find_kubeconfig(kubeconfig)
    except click.ClickException:
        path = None
    if path is None:
        return ""

    async def look(client: Client) -> str:
        try:
            service = await client.get(SERVICES, "kube-dns", namespace="kube-system")
        except NotFound:
            return ""
        return str(service["spec"].get("clusterIP", ""))

    return await connected(kubeconfig, "dns", look)


def _own_server() -> str:
    try:
        found = name_servers(Path("/etc/resolv.conf").read_text())
    except OSError:
        found = []
    return found[0] if found else "127.0.0.1"
