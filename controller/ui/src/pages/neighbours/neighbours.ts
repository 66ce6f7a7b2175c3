/** Neighbours: their conditions, and what an address asks for. Pure. */

import type { Schemas } from '../../api/client';
import type { Tone } from '../../components/Badge.svelte';
import { query } from '../../router/match';

export type Neighbour = Schemas['Neighbour'];
export type Bandwidth = Schemas['Bandwidth'];

/** How a neighbour is for VMs that want to move there: `far` is too slow for that. */
export type Condition = 'possible' | 'far' | 'lossy' | 'unreachable' | 'stale';

export const CONDITION_TONES: Record<Condition, Tone> = {
  possible: 'good',
  far: 'warn',
  lossy: 'warn',
  unreachable: 'bad',
  stale: 'quiet',
};

/** From this loss on, loss is named before distance as the reason. */
const LOSSY = 0.05;

/** Return the condition of a neighbour. */
export function conditionOf(one: Neighbour): Condition {
  if (one.stale) return 'stale';
  if (one.median_ms === null) return 'unreachable';
  if (one.possible) return 'possible';
  return one.loss >= LOSSY ? 'lossy' : 'far';
}

/** Return a text that names a pair. */
export function pairName(one: { cloudlet: string; neighbour: string }): string {
  return `${one.cloudlet} ${one.neighbour}`;
}

export type View = 'matrix' | 'list';

export const VIEWS: readonly View[] = ['matrix', 'list'];

export type Span = 'round' | 'hour' | 'day';

export const SPANS: readonly Span[] = ['round', 'hour', 'day'];

/** `impossible`: fresh, and no place to move to. */
export type StateFilter = '' | 'possible' | 'impossible' | 'stale';

export const STATE_FILTERS = ['possible', 'impossible', 'stale'] as const;

/** What an address asks for; '' is no filter. */
export interface Asked {
  view: View;
  /** The matrix: a pool, words for its axes, and whether its cells are small. */
  vcp: string;
  words: string;
  small: boolean;
  /** The list. */
  cloudlet: string;
  neighbour: string;
  state: StateFilter;
  /** The pair whose history is shown. */
  pair: { from: string; to: string } | null;
  span: Span;
}

/** Return what an address asks for. */
export function readNeighbours(given: URLSearchParams): Asked {
  const text = (name: string, most = 63) => (given.get(name) ?? '').trim().slice(0, most);
  const [from, to] = [text('from'), text('to')];
  return {
    view: VIEWS.find((one) => one === given.get('view')) ?? 'matrix',
    vcp: text('vcp'),
    words: (given.get('q') ?? '').slice(0, 200),
    small: given.get('cells') === 'small',
    cloudlet: text('cloudlet'),
    neighbour: text('neighbour'),
    state: STATE_FILTERS.find((one) => one === given.get('state')) ?? '',
    pair: from && to ? { from, to } : null,
    span: SPANS.find((one) => one === given.get('span')) ?? 'round',
  };
}

/** Return the address that asks for this. */
export function address(asked: Asked): string {
  const { view, vcp, words, small, cloudlet, neighbour, state, pair, span } = asked;
  const matrix = { vcp, q: words, cells: small ? 'small' : '' };
  const list = { view, cloudlet, neighbour, state };
  const chosen = pair ? { ...pair, span: span === 'round' ? '' : span } : {};
  return '/neighbours' + query({ ...(view === 'matrix' ? matrix : list), ...chosen });
}

/** Return the filters of the list as the API takes them. */
export function filtersOf({ cloudlet, neighbour, state }: Asked): {
  cloudlet?: string;
  neighbour?: string;
  possible?: boolean;
  stale?: boolean;
} {
  return {
    ...(cloudlet ? { cloudlet } : {}),
    ...(neighbour ? { neighbour } : {}),
    ...(state === 'possible' ? { possible: true } : {}),
    ...(state === 'impossible' ? { possible: false, stale: false } : {}),
    ...(state === 'stale' ? { stale: true } : {}),
  };
}
