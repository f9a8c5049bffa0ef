"""The commands that work on tables: each a thin function that parses, calls and prints."""
