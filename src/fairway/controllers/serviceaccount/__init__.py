"""Every namespace has a ServiceAccount `default`, or no Pod could be made in it."""
