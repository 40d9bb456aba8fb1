"""Every namespace has a ConfigMap with the certificate authority that Pods verify the API server by."""
