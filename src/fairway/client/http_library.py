"""aiohttp, imported without reading the certificates of all public authorities.

On import it makes two TLS contexts with them, which takes 60 to 80 ms of the start of every process,
and two megabytes. They are never used: who the API server has to be is said by the kubeconfig, and a context
for that is made there. Whoever forgets to pass one is refused, not trusted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_AUTHORITIES = {"SSL_CERT_FILE": "/dev/null", "SSL_CERT_DIR": "/nonexistent"}
"""Where OpenSSL looks for them."""


@contextmanager
def _no_public_authorities() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in _AUTHORITIES}
    os.environ.update(_AUTHORITIES)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


with _no_public_authorities():
    import aiohttp

__all__ = ["aiohttp"]
