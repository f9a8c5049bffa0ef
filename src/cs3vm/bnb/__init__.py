"""The exact engine and the heuristic that feeds it."""
