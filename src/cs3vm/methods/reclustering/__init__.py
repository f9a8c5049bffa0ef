"""The paper's Algorithms 1, 2 and 3, and what they share."""
