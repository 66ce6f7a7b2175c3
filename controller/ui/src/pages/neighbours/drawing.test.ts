import { expect, test } from 'vitest';
import { draw, type Brush, type Scene } from './drawing';
import { geometryOf } from './grid';
import type { Cell } from './matrix';

/** A brush that writes down what it is told. */
function recording(): { brush: Brush; calls: [string, ...unknown[]][]; texts: () => string[] } {
  const calls: [string, ...unknown[]][] = [];
  const brush = new Proxy({} as Record<string, unknown>, {
    get: (_, name) => {
      return (...given: unknown[]) => void calls.push([String(name), ...given]);
    },
    set: () => true,
  }) as unknown as Brush;
  const texts = () => calls.filter(([name]) => name === 'fillText').map((call) => String(call[1]));
  return { brush, calls, texts };
}

const names = (count: number) => Array.from({ length: count }, (_, index) => `c${index}`);

const scene = (more: Partial<Scene> = {}): Scene => ({
  rows: names(2),
  columns: names(2),
  cell: (from, to): Cell => (from === to ? { kind: 'self', ms: null } : { kind: 'value', ms: 12 }),
  figure: (ms) => `${ms}`,
  geometry: geometryOf(false, false),
  scrolled: { left: 0, top: 0 },
  size: { width: 800, height: 600 },
  ratio: 1,
  dark: false,
  ink: { text: '#000', quiet: '#333', line: '#ccc', font: 'monospace' },
  framed: [],
  ...more,
});

test('cells have their numbers, and axes their names', () => {
  const { brush, texts } = recording();
  draw(brush, scene());
  expect(texts()).toEqual(['12', '12', 'c0', 'c1', 'c0', 'c1']);
});

test('small cells have no numbers', () => {
  const { brush, texts } = recording();
  draw(brush, scene({ geometry: geometryOf(true, false) }));
  expect(texts()).toEqual(['c0', 'c1', 'c0', 'c1']);
});

test('of a million cells those are drawn that can be seen', () => {
  const { brush, calls, texts } = recording();
  let asked = 0;
  const cell = (): Cell => {
    asked += 1;
    return { kind: 'value', ms: 5 };
  };
  draw(brush, scene({ rows: names(1000), columns: names(1000), cell, scrolled: { left: 22_010, top: 12_005 } }));
  expect(asked).toBeLessThan(500);
  expect(calls.length).toBeLessThan(3000);
  expect(texts()).toContain('c500');
  expect(texts()).not.toContain('c0');
});

test('each state has a shape of its own', () => {
  const shape = (cell: Cell) => {
    const { brush, calls } = recording();
    draw(brush, scene({ rows: ['a'], columns: ['b'], cell: () => cell }));
    const of = (name: string) => calls.filter((call) => call[0] === name).length;
    return [of('fillRect'), of('stroke'), of('strokeRect'), of('fill'), of('lineTo')].join(' ');
  };
  const shapes = [
    shape({ kind: 'value', ms: 5 }),
    shape({ kind: 'far', ms: 5 }),
    shape({ kind: 'lossy', ms: 5 }),
    shape({ kind: 'stale', ms: 5 }),
    shape({ kind: 'unreachable', ms: null }),
    shape({ kind: 'none', ms: null }),
  ];
  expect(new Set(shapes).size).toBe(shapes.length);
});

test('the focused cell has a frame', () => {
  const { brush, calls } = recording();
  draw(brush, scene({ framed: [null, { row: 1, column: 0 }] }));
  expect(calls.filter(([name]) => name === 'strokeRect')).toEqual([['strokeRect', 131, 119, 45, 25]]);
});
