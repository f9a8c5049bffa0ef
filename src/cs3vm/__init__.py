"""Classification with few, biased labels and a known total of positives."""

from .problem import Problem
from .result import Result, Status

__all__ = ["Problem", "Result", "Status"]
__version__ = "0.1.0"
