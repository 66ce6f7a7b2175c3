import { expect, test } from 'vitest';
import { geometryOf, inSight, moved, scrolledTo, short, spotAt } from './grid';

const geometry = { cell: { width: 40, height: 20 }, head: { width: 100, height: 50 } };

test('few of many cells can be seen', () => {
  expect(inSight(0, 400, 40, 1000)).toEqual([0, 10]);
  expect(inSight(4010, 400, 40, 1000)).toEqual([100, 111]);
  expect(inSight(0, 400, 40, 3)).toEqual([0, 3]);
  expect(inSight(9000, 400, 40, 3)).toEqual([3, 3]);
  expect(inSight(0, -20, 40, 3)).toEqual([0, 0]);
});

test('the cell at a place', () => {
  const still = { left: 0, top: 0 };
  const at = (x: number, y: number, scrolled = still) => spotAt({ x, y }, scrolled, geometry, 3, 3);
  expect(at(100, 50)).toEqual({ row: 0, column: 0 });
  expect(at(219, 109)).toEqual({ row: 2, column: 2 });
  expect([at(99, 60), at(150, 49), at(221, 60), at(150, 111)]).toEqual([null, null, null, null]);
  expect(at(150, 60, { left: 80, top: 0 })).toBeNull();
});

test('keys lead from cell to cell, and never outside', () => {
  const go = (key: string, far = false) => moved(key, far, { row: 1, column: 1 }, 30, 3);
  expect(go('ArrowUp')).toEqual({ row: 0, column: 1 });
  expect(go('ArrowRight')).toEqual({ row: 1, column: 2 });
  expect(go('PageDown')).toEqual({ row: 11, column: 1 });
  expect(go('PageUp')).toEqual({ row: 0, column: 1 });
  expect([go('Home'), go('End')]).toEqual([
    { row: 1, column: 0 },
    { row: 1, column: 2 },
  ]);
  expect([go('Home', true), go('End', true)]).toEqual([
    { row: 0, column: 0 },
    { row: 29, column: 2 },
  ]);
  expect(go('ArrowDown', true)).toEqual({ row: 29, column: 1 });
  expect([go('x'), go('constructor'), go('Tab')]).toEqual([null, null, null]);
});

test('a cell comes into sight by as little as that takes', () => {
  expect(scrolledTo(2, 0, 400, 40)).toBe(0);
  expect(scrolledTo(10, 0, 400, 40)).toBe(40);
  expect(scrolledTo(1, 200, 400, 40)).toBe(40);
});

test('long names are cut, and small cells have the same names', () => {
  expect([short('edge-0001', 9), short('edge-0001', 6), short('abc', 0)]).toEqual(['edge-0001', 'edge-…', 'a…']);
  expect(geometryOf(true, false).head).toEqual(geometryOf(false, false).head);
});
