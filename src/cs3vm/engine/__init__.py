"""Our own engine, compiled: an exact search and a heuristic over a common core."""
