"""The whole system on one machine: a cluster whose nodes are network namespaces (`fairway up`).

This is where components are put together; it imports them all and is imported by the command line only.
"""
