/** LANs by how full they are, and what an address of these pages says. Pure. */

import type { Schemas } from '../../api/client';
import type { Tone } from '../../components/Badge.svelte';
import type { RegionEvent } from '../../live/stream';

export type Lan = Schemas['Lan'];

/** The part of the pairs in use, and the days before the end, from which on a LAN is filling
    (`controller/core/usage.py`). */
const FULL = 0.9;
const SOON = 7;
const DAY = 86_400_000;

/** How full a LAN is. */
export type Level = 'roomy' | 'filling' | 'full';

export const LEVELS: readonly Level[] = ['roomy', 'filling', 'full'];

export const LEVEL_TONES: Record<Level, Tone> = { roomy: 'good', filling: 'warn', full: 'bad' };

/** Return the pairs that can be given out at all. */
export function usable(lan: Lan): number {
  return Math.max(lan.capacity - lan.excluded, 0);
}

/** Return the part in use, 0 to 1; a LAN without usable pairs is full. */
export function filled(lan: Lan): number {
  const all = usable(lan);
  return all > 0 ? Math.min(lan.leased / all, 1) : 1;
}

/** Return how full a LAN is; `now` in milliseconds. */
export function levelOf(lan: Lan, now: number): Level {
  if (lan.available <= 0) return 'full';
  const soon = lan.full_at !== null && new Date(lan.full_at).getTime() - now <= SOON * DAY;
  return soon || filled(lan) >= FULL ? 'filling' : 'roomy';
}

/** What the forecast says: `young` has too short a history, `far` grows, and is not full for years. */
export type Outlook = 'full' | 'ends' | 'young' | 'steady' | 'far';

/** Return what a LAN's forecast says. */
export function outlook(lan: Lan): Outlook {
  if (lan.available <= 0) return 'full';
  if (lan.full_at !== null) return 'ends';
  if (lan.per_day === null) return 'young';
  return lan.per_day > 0 ? 'far' : 'steady';
}

/** Return the rows whose text has all words of a search. */
export function matching<T>(rows: readonly T[], words: string, text: (row: T) => string): T[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return [...rows];
  return rows.filter((row) => {
    const said = text(row).toLowerCase();
    return wanted.every((word) => said.includes(word));
  });
}

/** Return a level that an address names, or '' for any other word. */
export function levelNamed(word: string | null): Level | '' {
  return LEVELS.find((one) => one === word) ?? '';
}

export type LanView = 'plan' | 'leases' | 'reservations' | 'statics' | 'delegations';

export const LAN_VIEWS: readonly LanView[] = ['plan', 'leases', 'reservations', 'statics', 'delegations'];

/** Return the view of a LAN that an address names, or the plan. */
export function lanView(query: URLSearchParams): LanView {
  return LAN_VIEWS.find((one) => one === query.get('view')) ?? 'plan';
}

/** Return the seconds after which leases are loaded again that no event announces: a large LAN has many pages of
    them. */
export function every(lan: Lan): number {
  return lan.leased > 1000 ? 60 : 15;
}

/** Types of events after which a LAN may have other holdings. */
export const HOLDINGS = [
  'address-*',
  'device-changed',
  'device-forgotten',
  'endpoint-*',
  'lan-*',
  'lease-*',
  'pair-*',
  'policy-*',
  'static-*',
  'statics-*',
] as const;

/** Return whether an event is about a LAN, or about no one LAN. */
export function isAbout(event: RegionEvent, endpoint: string): boolean {
  if (/^(device|policy)-/.test(event.type)) return true;
  return event.subject === endpoint || event.data.endpoint === endpoint;
}
