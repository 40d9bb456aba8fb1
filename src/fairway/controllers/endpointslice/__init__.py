"""EndpointSlices of Services with a selector: what proxies and DNS read."""
