"""What the exact search and the heuristic share: arrays, the node solver, safe bounds."""
