"""``python -m cs3vm``."""

from .cli.app import app

app(prog_name="cs3vm")
