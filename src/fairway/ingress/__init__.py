"""The ingress controller: HTTP from outside to Services, carried by nginx."""
