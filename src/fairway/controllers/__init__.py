"""The control loops: each brings one kind of object in line with what others ask for.

One folder a controller: `plan.py` decides (pure: a snapshot in, frozen writes out), `controller.py` follows
the caches and applies. Controllers meet one another only through the objects they write.
"""
