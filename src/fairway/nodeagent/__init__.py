"""The node agent: runs the Pods that are bound to its node, and says how they are.

node/      the Node object and its Lease
network/   the node's bridge, routes and masquerading; one namespace and address for each Pod
pods/      from a Pod to actions, files and status (pure parts), and the worker that carries them out
probes/    whether containers are started, alive and ready
runtime/   runc, and the reaper that outlives us
server/    exec and logs, for the API server
"""
