"""The optimisation problem as data, and the answer to it: numpy only."""
