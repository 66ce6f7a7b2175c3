/** Who reaches whom in a pool, as probes have shown. Pure. */

import type { Schemas } from '../../api/client';
import type { Tone } from '../../components/Badge.svelte';

export type Verification = Schemas['Verification'];
export type ProbedPair = Schemas['ProbedPair'];

/** What a cell says: packets pass; a rule keeps them away, as it should be; it differs from the intent; nobody asked. */
export type Word = 'passes' | 'filtered' | 'differs' | 'unasked';

export const WORDS: Record<Word, Tone> = { passes: 'good', filtered: 'thread', differs: 'bad', unasked: 'quiet' };

/** Most members of a matrix that can be read: of more, the differences are listed alone. */
export const MOST = 24;

export interface Cell {
  word: Word;
  /** The shortest round trip of an echo, in milliseconds. */
  rtt: number | null;
  /** Why it is not as it should be, or what keeps packets away. */
  why: readonly string[];
}

/** Return the cells by the names of both members, in either order: a pair is probed from one end, in each family. */
export function cells(found: Verification): Map<string, Cell> {
  const all = new Map<string, Cell>();
  const put = (one: string, other: string, cell: Cell) => {
    all.set(`${one} ${other}`, cell);
    all.set(`${other} ${one}`, cell);
  };
  for (const { near, far } of found.unasked) put(near, far, { word: 'unasked', rtt: null, why: [] });
  for (const pair of found.pairs) {
    const before = all.get(`${pair.near} ${pair.far}`);
    const word: Word = pair.differs ? 'differs' : pair.expected === 'passes' ? 'passes' : 'filtered';
    const rtts = [before?.rtt, pair.observed === 'passes' ? pair.rtt_ms : null].filter((ms) => typeof ms === 'number');
    const why = [pair.differs, ...pair.causes, pair.differs ? '' : pair.why].filter(Boolean);
    put(pair.near, pair.far, {
      word: graver(before?.word, word),
      rtt: rtts.length > 0 ? Math.min(...rtts) : null,
      why: [...new Set([...(before?.why ?? []), ...why])],
    });
  }
  for (const { near, far, reason } of found.unasked) {
    const cell = all.get(`${near} ${far}`);
    if (cell) put(near, far, { ...cell, why: [...cell.why, reason] });
  }
  return all;
}

function graver(one: Word | undefined, other: Word): Word {
  const order: readonly Word[] = ['differs', 'filtered', 'passes', 'unasked'];
  return order.find((word) => word === one || word === other) ?? other;
}

/** Return what is to be said of single pairs: what differs first, then what keeps packets away, then who was not asked. */
export function remarks(found: Verification): { pair: string; word: Word; text: string }[] {
  const seen = new Set<string>();
  const said = [...cells(found)].flatMap(([pair, { word, why }]) => {
    const name = pair.split(' ').sort().join(' – ');
    if (why.length === 0 || seen.has(name)) return [];
    seen.add(name);
    return [{ pair: name, word, text: why.join(' ') }];
  });
  const order: readonly Word[] = ['differs', 'filtered', 'unasked', 'passes'];
  return said.sort((a, b) => order.indexOf(a.word) - order.indexOf(b.word) || a.pair.localeCompare(b.pair));
}
