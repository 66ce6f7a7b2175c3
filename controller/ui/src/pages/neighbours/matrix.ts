/** The matrix of round trips: its axes and cells. Pure. */

import type { Schemas } from '../../api/client';
import { conditionOf, type Condition, type Neighbour } from './neighbours';

type Medians = Schemas['Matrix']['median_ms'];

/** The round trips of a region or a pool. */
export interface RoundTrips {
  /** The cloudlets, by name. */
  names: readonly string[];
  /** Fresh medians in milliseconds, by measuring cloudlet, then by neighbour; null if nothing came back. */
  medians: Medians;
  /** What is known of neighbours that are no place to move to, in the same order. */
  impaired: ReadonlyMap<string, ReadonlyMap<string, Neighbour>>;
  /** Whether there are more of these than were loaded. */
  partial: boolean;
}

/** Return pages of the matrix and the impaired neighbours as one. */
export function joined(
  pages: readonly Schemas['Matrix'][],
  impaired: readonly Neighbour[],
  partial: boolean,
): RoundTrips {
  const by = new Map<string, Map<string, Neighbour>>();
  for (const one of impaired) {
    const row = by.get(one.cloudlet) ?? new Map<string, Neighbour>();
    by.set(one.cloudlet, row.set(one.neighbour, one));
  }
  const medians = Object.assign({}, ...pages.map((page) => page.median_ms)) as Medians;
  return { names: pages.at(-1)?.cloudlets ?? [], medians, impaired: by, partial };
}

/** A cell: `none` was not measured, `self` is a cloudlet and itself, `value` is a possible neighbour. */
export interface Cell {
  kind: Condition | 'value' | 'none' | 'self';
  /** The round trip in milliseconds; the last one known of a stale neighbour. */
  ms: number | null;
}

/** Return the cell of a pair. */
export function cellOf(trips: RoundTrips, from: string, to: string): Cell {
  if (from === to) return { kind: 'self', ms: null };
  const known = trips.impaired.get(from)?.get(to);
  const median = own(own(trips.medians, from), to);
  if (median === undefined) return known?.stale ? { kind: 'stale', ms: known.median_ms } : { kind: 'none', ms: null };
  if (median === null) return { kind: 'unreachable', ms: null };
  const condition = known ? conditionOf(known) : null;
  return { kind: condition === 'lossy' || condition === 'far' ? condition : 'value', ms: median };
}

/** Names may be those of an object's own functions, like `constructor`. */
function own<T>(of: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return of !== undefined && Object.hasOwn(of, key) ? of[key] : undefined;
}

export interface Axes {
  rows: readonly string[];
  columns: readonly string[];
}

/** Return the names on both axes that have one of these words in them. `a > b` has other words for rows than for columns;
    an axis without words then shows the neighbours of the other one. */
export function axes(trips: RoundTrips, words: string): Axes {
  const cut = words.indexOf('>');
  if (cut < 0) {
    const both = matching(trips.names, words);
    return { rows: both, columns: both };
  }
  const [left, right] = [words.slice(0, cut).trim(), words.slice(cut + 1).trim()];
  const measured = (from: string, to: string) => !['none', 'self'].includes(cellOf(trips, from, to).kind);
  let rows = matching(trips.names, left);
  let columns = matching(trips.names, right);
  if (left && !right) columns = columns.filter((to) => rows.some((from) => measured(from, to)));
  if (right && !left) rows = rows.filter((from) => columns.some((to) => measured(from, to)));
  return { rows, columns };
}

function matching(names: readonly string[], words: string): readonly string[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return wanted.length === 0 ? names : names.filter((name) => wanted.some((word) => name.includes(word)));
}
