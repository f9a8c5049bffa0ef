"""Choosing a model without more labels."""
