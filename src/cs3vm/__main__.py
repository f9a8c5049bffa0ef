"""``python -m cs3vm``."""

from .cli import app

app(prog_name="cs3vm")
