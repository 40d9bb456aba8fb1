"""The node's side of the Pod network: addresses, namespaces, routes, masquerading."""
