"""Distances on the earth: the WGS-84 geodesic, by GeographicLib (Karney, "Algorithms for geodesics", 2013). The only
module that imports that library."""

from dataclasses import dataclass
from math import asin, cos, radians, sin, sqrt

from geographiclib.geodesic import Geodesic

LEAST_RADIUS, GREATEST_RADIUS = 6_335_439.0, 6_399_594.0
"""Metres. On the WGS-84 ellipsoid no radius of curvature in the meridian or across it is outside these (the first at
the equator, the second at the poles). So a geodesic is at least as long as on a sphere of the first radius, with the
same latitudes and longitudes, and at most as long as on one of the second."""


@dataclass(frozen=True, slots=True)
class Position:
    """WGS-84 degrees, latitude -90..90, longitude -180..180."""

    latitude: float
    longitude: float


def metres(a: Position, b: Position) -> float:
    """Return the length of the geodesic between two places."""
    line = Geodesic.WGS84.Inverse(a.latitude, a.longitude, b.latitude, b.longitude, Geodesic.DISTANCE)
    return float(line["s12"])


def angle(a: Position, b: Position) -> float:
    """Return the radians between two places on a sphere, by haversines, which are exact for places that are close."""
    north, south = radians(a.latitude), radians(b.latitude)
    across = sin(radians(b.longitude - a.longitude) / 2)
    h = sin((south - north) / 2) ** 2 + cos(north) * cos(south) * across * across
    return 2 * asin(min(1.0, sqrt(h)))


def within(a: Position, b: Position, limit: float) -> bool:
    """Return whether two places are at most `limit` metres apart. The geodesic is computed only if the spheres leave it
    open."""
    if a == b:
        return limit >= 0
    between = angle(a, b)
    if between * LEAST_RADIUS * (1 - _ROUNDING) - _ROUNDING > limit:
        return False
    return between * GREATEST_RADIUS * (1 + _ROUNDING) + _ROUNDING <= limit or metres(a, b) <= limit


_ROUNDING = 1e-6
"""A millionth, and a micrometre: above the rounding errors in a haversine or in the geodesic."""
