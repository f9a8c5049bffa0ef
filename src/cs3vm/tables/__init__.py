"""Tables and models as files."""
