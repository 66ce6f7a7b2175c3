"""The style of all figures: light, few lines, colours that everybody can tell apart (Okabe and Ito's)."""

from contextlib import AbstractContextManager

import matplotlib

INK, PALE, GREY = "#222222", "#8a8a8a", "#555555"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def style() -> AbstractContextManager[None]:
    """Return the style as a context. The same figures give the same bytes, and text stays text in SVG."""
    return matplotlib.rc_context(
        {
            "font.size": 9.5,
            "axes.edgecolor": PALE,
            "axes.labelcolor": INK,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.axisbelow": True,
            "grid.color": "#00000018",
            "grid.linewidth": 0.8,
            "xtick.color": INK,
            "ytick.color": INK,
            "svg.fonttype": "none",
            "svg.hashsalt": "weft",
        }
    )
