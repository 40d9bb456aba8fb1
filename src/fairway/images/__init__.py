"""Container images on disk: names, archives, the store, and the few images that are built in.

No registry is spoken to here and no container is run.
"""
