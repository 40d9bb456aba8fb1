"""The cluster's names: Services, EndpointSlices, Namespaces and Pods in, DNS answers out. Pure throughout.

`model` holds what a name has, `service` derives it from objects, `zone` keeps it up to date and finds names,
`reply` turns a name into records, `compiled` into prebuilt messages.
"""
