import { expect, test } from 'vitest';
import { axes, cellOf, joined } from './matrix';
import type { Neighbour } from './neighbours';

const NAMES = ['c1', 'c2', 'c3', 'constructor', 'edge-1'];

const impaired = (cloudlet: string, neighbour: string, more: Partial<Neighbour>) =>
  ({ cloudlet, neighbour, possible: false, stale: false, median_ms: 50, loss: 0, ...more }) as Neighbour;

const trips = joined(
  [
    { cloudlets: NAMES, median_ms: { c1: { c2: 12.5, c3: null, 'edge-1': 240 } } },
    { cloudlets: NAMES, median_ms: { c2: { c1: 13, c3: 50 } } },
  ],
  [
    impaired('c1', 'c3', { median_ms: null, loss: 1 }),
    impaired('c1', 'edge-1', { median_ms: 240 }),
    impaired('c2', 'c3', { loss: 0.4 }),
    impaired('c3', 'c1', { stale: true, median_ms: 7 }),
  ],
  false,
);

test('cells', () => {
  const cell = (from: string, to: string) => cellOf(trips, from, to);
  expect(cell('c1', 'c2')).toEqual({ kind: 'value', ms: 12.5 });
  expect(cell('c1', 'c3')).toEqual({ kind: 'unreachable', ms: null });
  expect(cell('c1', 'edge-1')).toEqual({ kind: 'far', ms: 240 });
  expect(cell('c2', 'c3')).toEqual({ kind: 'lossy', ms: 50 });
  expect(cell('c3', 'c1')).toEqual({ kind: 'stale', ms: 7 });
  expect(cell('c3', 'c2')).toEqual({ kind: 'none', ms: null });
  expect(cell('c2', 'c2')).toEqual({ kind: 'self', ms: null });
});

test('a cloudlet may have the name of a function', () => {
  expect(cellOf(trips, 'constructor', 'c1').kind).toBe('none');
  expect(cellOf(trips, 'c1', 'constructor').kind).toBe('none');
});

test('words narrow both axes', () => {
  expect(axes(trips, '')).toEqual({ rows: NAMES, columns: NAMES });
  expect(axes(trips, ' C1 edge')).toEqual({ rows: ['c1', 'edge-1'], columns: ['c1', 'edge-1'] });
  expect(axes(trips, 'zebra')).toEqual({ rows: [], columns: [] });
});

test('other words for rows than for columns', () => {
  expect(axes(trips, 'c1 > c2 c3')).toEqual({ rows: ['c1'], columns: ['c2', 'c3'] });
  expect(axes(trips, 'c2 >')).toEqual({ rows: ['c2'], columns: ['c1', 'c3'] });
  expect(axes(trips, '> c1')).toEqual({ rows: ['c2', 'c3'], columns: ['c1'] });
  expect(axes(trips, '>')).toEqual({ rows: NAMES, columns: NAMES });
});

test('a region without cloudlets', () => {
  expect(axes(joined([{ cloudlets: [], median_ms: {} }], [], false), '')).toEqual({ rows: [], columns: [] });
});
