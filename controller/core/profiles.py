"""Corrections from past moves: a factor on the model's time, and the error of predictions. Pure.

All cloudlets share the profiles (Teka, section V), so that a machine has a history wherever it arrives. A kind of
machine (its image) and a link (from one cloudlet to another) each have a factor: the median, which one outlier does not
change, drawn towards 1 as long as there are few moves."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, log
from statistics import median

DOUBT = 3.0
"""The weight of doubt, in moves: with this many moves the factor counts half."""

FARTHEST = 8.0
"""No factor is above this, or below its inverse."""

SWEEPS = 4
"""The number of passes over images and links in turn; after that their factors hardly change."""

ENOUGH = 50
"""The number of latest moves of an image, and of a link, that are used."""


@dataclass(frozen=True)
class Past:
    """A move that was made: its image and its link, the seconds it took, the model's, and those that were predicted
    (the model's with the correction of that time; None if there was no prediction)."""

    image: str
    link: tuple[str, str]
    seconds: float
    model_seconds: float
    predicted_seconds: float | None = None


@dataclass(frozen=True)
class Correction:
    """`factor` on the model's seconds: the product of the image's and the link's factor, within bounds, found from
    `image_moves` and `link_moves` moves."""

    factor: float = 1.0
    image_factor: float = 1.0
    link_factor: float = 1.0
    image_moves: int = 0
    link_moves: int = 0


@dataclass(frozen=True)
class Error:
    """The error of the predictions of `moves` past moves, as a part of the actual time: at most `median` for half of
    them, at most `p90` for nine of ten."""

    moves: int
    median: float
    p90: float


def correction(past: Sequence[Past], image: str, link: tuple[str, str]) -> Correction:
    """Return the factor for a move of this image over this link. Median polish separates the two (Tukey, "Exploratory
    Data Analysis", chapter 11): the part of a move that its link does not explain counts for its image, and the other
    way round."""
    known = [one for one in past if one.seconds > 0 and one.model_seconds > 0]
    images, links = dict.fromkeys([o.image for o in known], 0.0), dict.fromkeys([o.link for o in known], 0.0)
    for _ in range(SWEEPS):
        for name in images:
            images[name] = _drawn([_off(one) - links[one.link] for one in known if one.image == name])
        for way in links:
            links[way] = _drawn([_off(one) - images[one.image] for one in known if one.link == way])
    of_image, of_link = images.get(image, 0.0), links.get(link, 0.0)
    moves = sum(one.image == image for one in known), sum(one.link == link for one in known)
    return Correction(_factor(of_image + of_link), _factor(of_image), _factor(of_link), *moves)


def error(past: Sequence[Past]) -> Error | None:
    """Return the error of past predictions; None if there were none."""
    off = sorted(
        abs(one.predicted_seconds - one.seconds) / one.seconds
        for one in past
        if one.predicted_seconds is not None and one.seconds > 0
    )
    return Error(len(off), median(off), off[ceil(0.9 * len(off)) - 1]) if off else None


def typical(values: Sequence[float | None]) -> float | None:
    """Return the median of the known values; None if there is none."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _off(one: Past) -> float:
    return log(one.seconds) - log(one.model_seconds)  # the quotient of the two may be 0 or infinite


def _drawn(logarithms: Sequence[float]) -> float:
    """Return the median, drawn towards 0."""
    return median(logarithms) * len(logarithms) / (len(logarithms) + DOUBT)


def _factor(logarithm: float) -> float:
    return exp(min(max(logarithm, -log(FARTHEST)), log(FARTHEST)))
