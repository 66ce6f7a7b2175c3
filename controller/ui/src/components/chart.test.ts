import { expect, test } from 'vitest';
import { axis, bandPath, linePath, nearest, pieces, thinned, timeTicks, type ChartPoint } from './chart';

const point = (at: number, value: number | null, more: Partial<ChartPoint> = {}): ChartPoint => ({
  at,
  value,
  low: value === null ? null : value - 1,
  high: value === null ? null : value + 1,
  lost: value === null ? 1 : 0,
  ...more,
});

const same = (value: number) => value;

test('an axis has round ticks and room for all values', () => {
  expect(axis(37)).toEqual({ top: 40, step: 10 });
  expect(axis(100)).toEqual({ top: 100, step: 50 });
  expect(axis(0.8).top).toBeCloseTo(0.8);
  for (const none of [0, -1, NaN]) expect(axis(none)).toEqual({ top: 1, step: 0.5 });
  for (const most of [0.013, 1, 9.99, 151, 4711]) expect(axis(most).top).toBeGreaterThanOrEqual(most - 1e-9);
});

test('times have ticks at round figures of the clock', () => {
  const noon = new Date(2026, 4, 3, 12, 7).getTime();
  const hours = timeTicks(noon, noon + 6 * 3_600_000, 6);
  expect(hours.step).toBe(3_600_000);
  expect(hours.at.map((one) => [new Date(one).getHours(), new Date(one).getMinutes()])).toEqual(
    [13, 14, 15, 16, 17, 18].map((hour) => [hour, 0]),
  );
  const month = timeTicks(noon, noon + 30 * 86_400_000, 6);
  expect(month.at.every((one) => new Date(one).getHours() === 0)).toBe(true);
  expect(month.at.length).toBeLessThanOrEqual(6);
  expect(timeTicks(noon, noon + 400 * 86_400_000, 4).at.length).toBeLessThanOrEqual(4);
  expect(timeTicks(noon + 1, noon + 1, 4).at).toEqual([]);
});

test('many points become few, and no peak is lost', () => {
  const points = Array.from({ length: 1440 }, (_, at) => point(at, at === 700 ? 500 : 10));
  const few = thinned(points, 360);
  expect(few).toHaveLength(360);
  expect(Math.max(...few.map((one) => one.high ?? 0))).toBe(501);
  expect(thinned([point(0, 10), point(1, null)], 1)[0]).toMatchObject({ value: 10, low: 9, high: 11, lost: 0.5 });
  expect(thinned([point(0, null)], 1)[0]).toMatchObject({ value: null, low: null, lost: 1 });
  expect(thinned(points.slice(0, 3), 360)).toEqual(points.slice(0, 3));
});

test('a line ends where nothing came back, and where nothing was measured', () => {
  const cut = (points: ChartPoint[]) => pieces(points).map((piece) => piece.map((one) => one.at));
  expect(cut([point(0, 1), point(1, 2), point(2, null), point(3, 4)])).toEqual([[0, 1], [3]]);
  expect(cut([point(0, 1), point(1, 2), point(2, 3), point(9, 4), point(10, 5)])).toEqual([
    [0, 1, 2],
    [9, 10],
  ]);
  expect(cut([])).toEqual([]);
  expect(cut([point(0, null)])).toEqual([]);
});

test('paths', () => {
  expect(linePath([point(0, 1), point(1, 2.04)], same, same)).toBe('M0 1L1 2');
  expect(linePath([point(3, 1)], same, same)).toBe('M3 1h2');
  expect(bandPath([point(0, 1), point(1, 2)], same, same)).toBe('M0 2L1 3L1 1L0 0Z');
});

test('the nearest point', () => {
  const points = [point(0, 1), point(10, 1), point(20, 1)];
  expect([nearest(points, -5), nearest(points, 14), nearest(points, 99), nearest([], 3)]).toEqual([0, 1, 2, -1]);
});
