"""Links in pages seen through the API server's proxy."""

from __future__ import annotations

import pytest

from fairway.apiserver.link_rewriting import rewrite_links

PREFIX = "/api/v1/namespaces/default/services/web:80/proxy"


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        ('<a href="/x?y=1#z">', f'<a href="{PREFIX}/x?y=1#z">'),
        ("<IMG alt='/no' SRC='/logo.png'/>", f"<IMG alt='/no' SRC='{PREFIX}/logo.png'/>"),
        ("<form action=/send>", f"<form action={PREFIX}/send>"),
        ('<a href="relative/x">', '<a href="relative/x">'),
        ('<a href="//elsewhere/x">', '<a href="//elsewhere/x">'),
        ('<a href="https://elsewhere/x">', '<a href="https://elsewhere/x">'),
        (f'<a href="{PREFIX}/x">', f'<a href="{PREFIX}/x">'),
        ('<p title="/x">/x</p>', '<p title="/x">/x</p>'),
        ("1 < 2 and href=/x", "1 < 2 and href=/x"),
    ],
)
def test_only_links_to_absolute_paths_lead_through_the_proxy(page: str, seen: str) -> None:
    assert rewrite_links(page.encode(), PREFIX).decode() == seen
