/** Changes, events and audit entries as lines of one list. Pure. */

import type { Schemas } from '../../api/client';
import type { Tone } from '../../components/Badge.svelte';

export type Change = Schemas['Change'];
export type RegionEvent = Schemas['Event'];
export type AuditEntry = Schemas['AuditEntry'];

interface Base<Kind, Item> {
  kind: Kind;
  /** A text that names the line in an address. */
  name: string;
  at: string;
  item: Item;
}

export type Line = Base<'change', Change> | Base<'event', RegionEvent> | Base<'audit', AuditEntry>;

export const STATE_TONES: Record<Change['state'], Tone> = {
  made: 'good',
  'on-trial': 'warn',
  confirmed: 'good',
  'rolled-back': 'bad',
};

export const changeLine = (item: Change): Line => ({
  kind: 'change',
  name: `change-${item.generation}`,
  at: item.at,
  item,
});

export const eventLine = (item: RegionEvent): Line => ({ kind: 'event', name: `event-${item.id}`, at: item.at, item });

export const auditLine = (item: AuditEntry): Line => ({
  kind: 'audit',
  name: `audit-${item.number}`,
  at: item.at,
  item,
});

/** Return the tone of an HTTP status. */
export function statusTone(status: number): Tone {
  if (status < 400) return 'good';
  return status < 500 ? 'warn' : 'bad';
}

/** Return a line's text on one line. */
export function textOf(line: Line): string {
  if (line.kind === 'change') return line.item.cause;
  if (line.kind === 'event') return line.item.text;
  return `${line.item.who}: ${line.item.path}`;
}

/** Return the kind and number that a line's name has; null if it is none. */
export function parsed(name: string): [Line['kind'], number] | null {
  const found = /^(change|event|audit)-(\d{1,15})$/.exec(name);
  return found ? [found[1] as Line['kind'], Number(found[2])] : null;
}

export interface Source {
  lines: readonly Line[];
  /** Whether there are older lines than these. */
  more: boolean;
}

/** Return the lines of several lists by time, the latest first, and the list to extend next (null: none). Lines that are
    older than the last one of a list with more to come are left out: others may belong between them. */
export function byTime(sources: readonly Source[]): { lines: Line[]; extend: number | null } {
  let horizon = -Infinity;
  let extend: number | null = null;
  for (const [index, { lines, more }] of sources.entries()) {
    if (!more) continue;
    const last = lines.at(-1);
    const oldest = last ? time(last) : Infinity;
    if (extend === null || oldest > horizon) [horizon, extend] = [oldest, index];
  }
  const lines = sources.flatMap((source) => source.lines).filter((line) => time(line) >= horizon);
  return { lines: lines.sort((a, b) => time(b) - time(a)), extend };
}

function time(line: Line): number {
  return new Date(line.at).getTime();
}
