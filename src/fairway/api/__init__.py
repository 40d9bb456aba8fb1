"""The Kubernetes API as pure data and functions: resources, kinds, defaults, validation, patches, tables.

Nothing here does input or output; every other part of Fairway may import it.
"""
