/** Cloudlets at their places: the projection, places that lie too close together to be drawn apart, and the scale. Pure. */

import { geoMercator, type GeoProjection } from 'd3-geo';
import type { Tone } from '../../components/Badge.svelte';
import type { Cloudlet } from './region';

export interface Placed {
  name: string;
  latitude: number;
  longitude: number;
}

export interface Spot {
  /** Pixels before the plane is moved and zoomed. */
  x: number;
  y: number;
  name: string;
  tone: Tone;
}

/** One or several spots that are drawn as one; its pixels are those of the screen. */
export interface Cluster {
  x: number;
  y: number;
  names: readonly string[];
  tone: Tone;
}

/** Spots above this number are drawn together where they are close. */
export const MOST_SPOTS = 500;

const EARTH = 6_371_000; // metres, a mean radius
const CLOSEST = 5; // metres to a pixel, below which a fit does not zoom in
const CELL = 44; // pixels
const GRAVEST: readonly Tone[] = ['bad', 'warn', 'thread', 'good', 'quiet'];

/** Return the cloudlets that have a place. */
export function placed(cloudlets: readonly Cloudlet[]): Placed[] {
  return cloudlets.flatMap(({ name, latitude, longitude }) =>
    latitude === null || longitude === null ? [] : [{ name, latitude, longitude }],
  );
}

/** Return the middle of longitudes, in degrees: the opposite of the middle of the widest gap, so that a region on both
    sides of the date line stays together. */
export function middle(longitudes: readonly number[]): number {
  const sorted = [...new Set(longitudes)].sort((a, b) => a - b);
  let [widest, start] = [-1, 0];
  for (const [index, one] of sorted.entries()) {
    const next = sorted[index + 1] ?? (sorted[0] ?? 0) + 360;
    if (next - one > widest) [widest, start] = [next - one, next];
  }
  const found = start + (360 - widest) / 2;
  return ((((found + 180) % 360) + 360) % 360) - 180;
}

/** Return Mercator's projection (angles and circles keep their forms) that shows all places in a plane of that size. */
export function fitted(places: readonly Placed[], width: number, height: number): GeoProjection {
  if (places.length === 0) return geoMercator().fitSize([width, height], { type: 'Sphere' });
  const projection = geoMercator().rotate([-middle(places.map((one) => one.longitude)), 0]);
  const margin = Math.min(60, width / 6, height / 6);
  const coordinates = places.map((one): [number, number] => [one.longitude, one.latitude]);
  projection.fitExtent(
    [
      [margin, margin],
      [Math.max(margin + 1, width - margin), Math.max(margin + 1, height - margin)],
    ],
    { type: 'MultiPoint', coordinates },
  );
  const most = EARTH / CLOSEST;
  if (Number.isFinite(projection.scale()) && projection.scale() <= most) return projection;
  const latitudes = places.map((one) => one.latitude);
  const centre: [number, number] = [
    middle(places.map((one) => one.longitude)),
    (Math.min(...latitudes) + Math.max(...latitudes)) / 2,
  ];
  projection.scale(most).translate([0, 0]);
  const [x, y] = projection(centre) ?? [0, 0];
  return projection.translate([width / 2 - x, height / 2 - y]);
}

/** Return how many metres a pixel is in the middle of a plane, zoomed by `k`. */
export function metresToPixel(projection: GeoProjection, width: number, height: number, k: number): number {
  const latitude = projection.invert?.([width / 2, height / 2])?.[1] ?? 0;
  return (EARTH * Math.cos((latitude * Math.PI) / 180)) / (projection.scale() * k);
}

/** Return a length in metres of one, two or five tens that is at most `pixels` long, and its pixels. */
export function ruler(metres: number, pixels = 120): { metres: number; pixels: number } {
  const most = metres * pixels;
  const ten = 10 ** Math.floor(Math.log10(most));
  const step = [5, 2, 1].find((one) => one * ten <= most) ?? 1;
  return { metres: step * ten, pixels: (step * ten) / metres };
}

/** Return an angle of the earth, in degrees, that so many metres are. */
export function degrees(metres: number): number {
  return (metres / EARTH) * (180 / Math.PI);
}

/** Return spots as they are drawn: each by itself, or, if there are more than `most`, those of one cell of the screen
    together. A cluster has the gravest tone of its spots. */
export function clusters(
  spots: readonly Spot[],
  at: { x: number; y: number; k: number },
  most = MOST_SPOTS,
): Cluster[] {
  const cells = new Map<string, { spots: Spot[]; x: number; y: number }>();
  for (const spot of spots) {
    const [x, y] = [spot.x * at.k + at.x, spot.y * at.k + at.y];
    const cell = spots.length <= most ? spot.name : `${Math.floor(x / CELL)} ${Math.floor(y / CELL)}`;
    const found = cells.get(cell) ?? { spots: [], x: 0, y: 0 };
    found.spots.push(spot);
    found.x += x;
    found.y += y;
    cells.set(cell, found);
  }
  return [...cells.values()].map(({ spots: those, x, y }) => ({
    x: x / those.length,
    y: y / those.length,
    names: those.map((spot) => spot.name),
    tone: GRAVEST.find((tone) => those.some((spot) => spot.tone === tone)) ?? 'quiet',
  }));
}
