"""Where objects are kept: one protocol (`backend`) and its implementations.

Keys and bytes only; what they mean is the API server's business, and only the API server imports this.
"""
