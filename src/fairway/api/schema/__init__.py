"""The shapes of all objects Fairway serves, and what follows from them: reading bodies, merging, OpenAPI.

Start at `shape.py`. Nothing here knows what a kind means; defaults and validation are in `api/kinds`.
"""
