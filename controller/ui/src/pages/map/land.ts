/** The coasts of the earth at 1:110,000,000, of Natural Earth (public domain): enough to know a country by, and small. */

import { feature } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import land from 'world-atlas/land-110m.json';

const atlas = land as unknown as Topology<{ land: GeometryCollection }>;

/** All land, as GeoJSON. */
export const LAND = feature(atlas, atlas.objects.land);
