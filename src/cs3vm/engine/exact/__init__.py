"""The exact search: a tree of sides, with bounds that are theorems."""
