"""The exact search in low dimension: branch on boxes of directions of the plane instead of on rows."""
