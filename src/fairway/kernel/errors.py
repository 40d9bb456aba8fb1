"""What all errors of this package have in common, for those who only tell a person about them."""

from __future__ import annotations


class KernelError(Exception):
    """The kernel, or a program that speaks to it, refused; the text says what."""
