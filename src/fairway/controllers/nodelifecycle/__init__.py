"""Nodes that fall silent: they are marked, their Pods leave the endpoints and, in time, move elsewhere."""
