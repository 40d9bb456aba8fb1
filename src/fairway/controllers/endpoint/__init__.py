"""Endpoints of Services with a selector: the older, single-object form that kubectl and many clients read."""
