"""The heuristic: good planes in a fraction of a second, for any size."""
