/** How a neighbour was, as points of a chart. Pure. */

import type { Schemas } from '../../api/client';
import { thinned, type ChartPoint } from '../../components/chart';

export type PastMeasurement = Schemas['PastMeasurement'];

/** Points that a chart has room for. */
const MOST = 360;

/** Return the points of past measurements, oldest first: their medians, within the least and the 95th percentile. */
export function pointsOf(past: readonly PastMeasurement[]): ChartPoint[] {
  const points = past.map((one) => ({
    at: new Date(one.at).getTime(),
    value: one.median_ms,
    low: one.min_ms,
    high: one.p95_ms,
    lost: one.loss,
  }));
  return thinned(points, MOST);
}

/** The history in a few figures; times are null if nothing ever came back. */
export interface Figures {
  least: number | null;
  median: number | null;
  most: number | null;
  /** The part of all echoes that was lost (0..1), and the number of rounds. */
  lost: number;
  rounds: number;
}

/** Return the figures of past measurements. */
export function figuresOf(past: readonly PastMeasurement[]): Figures {
  const known = (name: 'min_ms' | 'median_ms' | 'p95_ms') => past.map((one) => one[name]).filter((one) => one !== null);
  const medians = known('median_ms').sort((a, b) => a - b);
  const sum = (name: 'sent' | 'received' | 'rounds') => past.reduce((all, one) => all + one[name], 0);
  return {
    least: medians.length > 0 ? known('min_ms').reduce((a, b) => Math.min(a, b), Infinity) : null,
    median: medians[Math.floor(medians.length / 2)] ?? null,
    most: medians.length > 0 ? known('p95_ms').reduce((a, b) => Math.max(a, b), 0) : null,
    lost: sum('sent') > 0 ? 1 - sum('received') / sum('sent') : 0,
    rounds: sum('rounds'),
  };
}
