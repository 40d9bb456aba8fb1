"""Namespaces that are being deleted: first all that is in them, then they themselves."""
