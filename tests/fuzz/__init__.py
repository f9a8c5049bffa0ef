"""A machine that looks for wrong claims: ``python -m tests.fuzz --help``."""
