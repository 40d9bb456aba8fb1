"""`fairway image`: what Pods are made of."""

from __future__ import annotations

from pathlib import Path

import click

from fairway.images import archive, builtin
from fairway.images.store import ImageError, ImageStore

DEFAULT_STORE = Path("~/.fairway/images")


@click.group(help="Load and list the images that Pods can use.")
@click.option(
    "--images",
    type=click.Path(path_type=Path),
    default=DEFAULT_STORE,
    show_default=True,
    help="the image store: DATA/images of `fairway up --data DATA`",
)
@click.pass_context
def command(context: click.Context, images: Path) -> None:
    context.obj = ImageStore(images.expanduser())


@command.command(help="Load a docker-archive or OCI archive (`docker save`, `skopeo copy`).")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--name", multiple=True, help="a name to give the image, besides those in the archive")
@click.pass_obj
def load(store: ImageStore, file: Path, name: tuple[str, ...]) -> None:
    try:
        loaded = archive.load(store, file, name)
    except (ImageError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    for image, names in loaded:
        if not names:
            raise click.ClickException(f"{image.digest} is loaded but has no name: give it one with --name")
        for each in names:
            click.echo(f"{each}\t{image.digest}")


@command.command(help="List the images that were loaded, and those that are built in.")
@click.pass_obj
def ls(store: ImageStore) -> None:
    rows = [*store.names(), *((name, "(built in)") for name in builtin.RECIPES)]
    width = max(len(name) for name, _ in rows)
    for name, digest in sorted(rows):
        click.echo(f"{name:<{width}}  {digest}")
