"""What every proxy mode must do, as one table: run by real packets and by the packet tracer alike."""
