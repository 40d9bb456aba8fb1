"""From the name in a Pod to an image: what was loaded comes first, then what is built in."""

from __future__ import annotations

from pathlib import Path

from fairway.images import builtin, collection
from fairway.images.model import Image
from fairway.images.reference import InvalidReference, Reference, parse
from fairway.images.store import ImageError, ImageStore


class InvalidImageName(ImageError):
    """No image can ever have that name."""


class MissingImage(ImageError):
    """The name is fine, but nobody has loaded such an image."""


class ImageResolver:
    """Looks images up. Built-in ones are made once a process, so that they follow the installed recipes."""

    def __init__(self, store: ImageStore) -> None:
        self._store = store
        self._built: dict[str, Image] = {}

    def resolve(self, name: str) -> Image:
        """Blocking, and slow the first time for an image that is built in: call it in a thread."""
        reference = _parsed(name)
        image = self._store.find(reference) or self._built_in(reference)
        if image is None:
            raise MissingImage(
                f'image "{name}" is not in the store and no registry is contacted: run '
                f"`fairway image pull {name}`, or save it to a file (docker save, skopeo copy) and run "
                "`fairway image load FILE`"
            )
        return image

    def hold(self, image: Image, owner: str, run_folder: Path) -> None:
        """Keep it while a container made of it runs. An image that was just taken away is looked up anew."""
        try:
            collection.hold(self._store, image, owner, run_folder)
        except collection.Gone:
            self._built = {name: built for name, built in self._built.items() if built != image}
            raise

    def collect(self) -> list[str]:
        """Remove what nobody needs. What is built in comes back when it is asked for."""
        gone = collection.collect(self._store)
        self._built = {name: built for name, built in self._built.items() if built.digest not in gone}
        return gone

    def _built_in(self, reference: Reference) -> Image | None:
        recipe = builtin.recipe_for(reference)
        if recipe and reference.name not in self._built:
            self._built[reference.name] = builtin.build(self._store, recipe)
        return self._built[reference.name] if recipe else None


def _parsed(name: str) -> Reference:
    try:
        return parse(name)
    except InvalidReference as error:
        raise InvalidImageName(f'Failed to apply default image tag "{name}": {error}') from error
