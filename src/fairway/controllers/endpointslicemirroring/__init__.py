"""Hand-made Endpoints of Services without a selector, mirrored into the slices that proxies and DNS read."""
