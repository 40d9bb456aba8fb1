"""Links in pages seen through a proxy: those to absolute paths get the proxy's own path in front. Pure."""

from __future__ import annotations

import re

# Attributes that hold a URL, by element, as HTML has them.
LINKS: dict[bytes, tuple[bytes, ...]] = {
    b"a": (b"href",),
    b"applet": (b"codebase",),
    b"area": (b"href",),
    b"audio": (b"src",),
    b"base": (b"href",),
    b"blockquote": (b"cite",),
    b"body": (b"background",),
    b"button": (b"formaction",),
    b"command": (b"icon",),
    b"del": (b"cite",),
    b"embed": (b"src",),
    b"form": (b"action",),
    b"frame": (b"longdesc", b"src"),
    b"head": (b"profile",),
    b"html": (b"manifest",),
    b"iframe": (b"longdesc", b"src"),
    b"img": (b"longdesc", b"src", b"usemap"),
    b"input": (b"src", b"usemap", b"formaction"),
    b"ins": (b"cite",),
    b"link": (b"href",),
    b"object": (b"classid", b"codebase", b"data", b"usemap"),
    b"q": (b"cite",),
    b"script": (b"src",),
    b"source": (b"src",),
    b"video": (b"poster", b"src"),
}
TAG = re.compile(rb"<([a-zA-Z]+)((?:\s+[^<>]*?)?)(/?)>", re.DOTALL)
ATTRIBUTE = re.compile(rb"""([a-zA-Z-]+)(\s*=\s*)("[^"]*"|'[^']*'|[^\s"'>]+)""")


def rewrite_links(page: bytes, prefix: str) -> bytes:
    """Every link to an absolute path leads through the proxy at `prefix` again."""

    def in_tag(tag: re.Match[bytes]) -> bytes:
        names = LINKS.get(tag[1].lower())
        if not names:
            return tag[0]

        def in_attribute(attribute: re.Match[bytes]) -> bytes:
            if attribute[1].lower() not in names:
                return attribute[0]
            return attribute[1] + attribute[2] + _rewritten(attribute[3], prefix.encode())

        return b"<%b%b%b>" % (tag[1], ATTRIBUTE.sub(in_attribute, tag[2]), tag[3])

    return TAG.sub(in_tag, page)


def _rewritten(value: bytes, prefix: bytes) -> bytes:
    quote = value[:1] if value[:1] in (b'"', b"'") else b""
    url = value.strip(b"\"'") if quote else value
    return quote + rewritten_url(url, prefix) + quote


def rewritten_url(url: bytes, prefix: bytes) -> bytes:
    is_absolute_path = url.startswith(b"/") and not url.startswith(b"//")
    if not is_absolute_path or url.startswith(prefix + b"/"):
        return url
    return prefix + url
