"""The command line: each command a thin function that parses, calls and prints."""
