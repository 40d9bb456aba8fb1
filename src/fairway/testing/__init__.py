"""Public tools for tests and for explanations: they follow packets through rules without sending any."""
