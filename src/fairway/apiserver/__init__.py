"""The API server, one request top to bottom: serve, authenticate, authorize, route, verb, store, watch."""
