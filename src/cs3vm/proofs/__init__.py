"""Proofs of optimality as files, and their checker. It shares no code with the engine."""
