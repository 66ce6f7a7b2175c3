import { expect, test } from 'vitest';
import type { Pair } from './plan';
import { layout, pairAt, paths, signOf } from './strip';

const AT = '2026-05-03T10:00:00Z';
const none = { lease: null, host: null };
const host = { name: 'printer', address: '10.1.0.3', mac: null, added_at: AT, until: null };

const pair = (number: number, more: Partial<Pair> = {}): Pair => ({
  number,
  md: '10.1.0.2',
  vm: '10.1.0.3',
  halves: [none, none],
  reservation: null,
  byPolicy: null,
  ...more,
});

const shapes = (path: string) => path.split('M').length - 1;

test('a cell is a pair, and rows have whole blocks', () => {
  const way = layout(126, 1200);
  expect(way).toMatchObject({ columns: 96, rows: 2, cells: 126, per: 1 });
  expect(layout(126, 340)).toMatchObject({ columns: 24, rows: 6, per: 1 });
  expect(layout(2, 0)).toMatchObject({ columns: 8, rows: 1, cells: 2 });
});

test('the pairs of a large plan share cells', () => {
  const way = layout(32_766, 1200);
  expect(way).toMatchObject({ per: 16, cells: 2048 });
  expect(way.rows).toBeLessThanOrEqual(24);
  const found = paths(way, [pair(0, { halves: [{ ...none, host }, none] }), pair(15), pair(16)]);
  expect(shapes(found.cell)).toBe(2048);
  expect(shapes(found.static)).toBe(1);
});

test('a mark is drawn once in a cell, each half by itself', () => {
  const way = layout(126, 1200);
  const reservation = { id: 1, endpoint: 'c1-lan', device: 'm1', md: '', vm: '', md6: null, vm6: null, held_until: AT };
  const declined = { ...host, until: AT };
  const found = paths(way, [
    pair(0, {
      halves: [
        { ...none, host },
        { ...none, host },
      ],
      reservation,
    }),
    pair(97, { halves: [{ ...none, host: declined }, none] }),
  ]);
  expect([found.static, found.declined, found.reserved, found.vm].map(shapes)).toEqual([2, 1, 1, 0]);
  expect(found.declined).toContain('M14 31');
});

test('a point is in a cell', () => {
  const way = layout(126, 1200);
  expect([pairAt(way, 0, 0), pairAt(way, 13, 23), pairAt(way, 95 * 12, 30)]).toEqual([0, 97, null]);
  expect([pairAt(way, -1, 0), pairAt(way, 0, -1), pairAt(way, 1200, 0), pairAt(way, 0, 60)]).toEqual([
    null,
    null,
    null,
    null,
  ]);
  expect(pairAt(layout(32_766, 1200), 13, 0)).toBe(16);
});

test('each mark has a shape of its own, but for the two kinds of reservation', () => {
  const signs = (['md', 'vm', 'static', 'declined', 'reserved'] as const).map(signOf);
  expect(new Set(signs).size).toBe(5);
});
