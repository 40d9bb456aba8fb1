"""`fairway image`: what Pods are made of."""

from __future__ import annotations

from pathlib import Path

import click

from fairway.images import archive, builtin, collection
from fairway.images import pull as pulling
from fairway.images.reference import InvalidReference, parse
from fairway.images.store import ImageError, ImageStore

DEFAULT_STORE = Path("~/.fairway/images")


@click.group(help="Load, pull, list and remove the images that Pods can use.")
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


@command.command(help="Fetch images from a registry; needs skopeo and a network.")
@click.argument("names", nargs=-1, required=True)
@click.pass_obj
def pull(store: ImageStore, names: tuple[str, ...]) -> None:
    for name in names:
        try:
            image = pulling.pull(store, name)
        except ImageError as error:
            raise click.ClickException(str(error)) from error
        click.echo(f"{name}\t{image.digest}")


@command.command(help="Take names away; an image without a name goes once no container uses it.")
@click.argument("names", nargs=-1, required=True)
@click.pass_obj
def rm(store: ImageStore, names: tuple[str, ...]) -> None:
    for name in names:
        try:
            reference = parse(name)
        except InvalidReference as error:
            raise click.ClickException(str(error)) from error
        if not store.forget(reference):
            raise click.ClickException(f"there is no image {name}")
        click.echo(f"removed {name}")
    for digest in collection.collect(store):
        click.echo(f"deleted {digest}")


@command.command(help="List the images that were loaded, and those that are built in.")
@click.pass_obj
def ls(store: ImageStore) -> None:
    rows = [*store.names(), *((name, "(built in)") for name in builtin.RECIPES)]
    width = max(len(name) for name, _ in rows)
    for name, digest in sorted(rows):
        click.echo(f"{name:<{width}}  {digest}")
