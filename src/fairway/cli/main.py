"""The `fairway` command. Each subcommand is one file, imported only when it is called."""

from __future__ import annotations

import gc
import importlib
from types import ModuleType

import click

from fairway import __version__

COMMANDS = {
    "apiserver": "just the API server",
    "controllers": "the controllers, against Fairway or any Kubernetes",
    "dns": "the DNS server",
    "ingress": "HTTP from outside to Services, as Ingresses say",
    "node": "the node agent: runs Pods on this machine",
    "proxy": "the node proxy: virtual IPs and node ports on this machine",
    "lb": "load balancers: addresses for Services, announced on the network",
    "up": "start a whole cluster on this machine",
    "down": "end it and leave nothing behind",
    "status": "how the cluster on this machine is doing",
    "get": "show objects",
    "describe": "show all there is to know of objects",
    "apply": "create or change objects from manifests",
    "delete": "delete objects",
    "logs": "show what a container has written",
    "exec": "run a command in a Pod",
    "register": "make what runs elsewhere an endpoint of a Service",
    "image": "the images Pods are made of",
}


class Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = _imported(f"fairway.cli.{name}").command
        command.name = name
        command.short_help = COMMANDS[name]
        return command


def _imported(name: str) -> ModuleType:
    """What is imported stays: to look for garbage in it takes a tenth of the time that importing takes."""
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        gc.freeze()
        gc.enable()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fairway")
def main() -> None:
    """Kubernetes Services as software of their own."""
