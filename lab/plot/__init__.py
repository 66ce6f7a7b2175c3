"""Figures as SVG and PNG: a walk's throughput against time, and lines in panels. No other package imports
matplotlib."""

from lab.plot.lines import growth, panels
from lab.plot.walks import throughput

__all__ = ["growth", "panels", "throughput"]
