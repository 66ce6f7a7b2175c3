import { expect, test } from 'vitest';
import { figuresOf, pointsOf, type PastMeasurement } from './history';

const past = (minute: number, median: number | null, more: Partial<PastMeasurement> = {}): PastMeasurement => ({
  at: new Date(Date.UTC(2026, 4, 3, 10, minute)).toISOString(),
  rounds: 1,
  method: 'icmp',
  sent: 5,
  received: median === null ? 0 : 5,
  min_ms: median === null ? null : median / 2,
  median_ms: median,
  p95_ms: median === null ? null : median * 2,
  jitter_ms: median === null ? null : 1,
  loss: median === null ? 1 : 0,
  ...more,
});

test('measurements are points', () => {
  expect(pointsOf([past(0, 10), past(1, null)])).toEqual([
    { at: Date.UTC(2026, 4, 3, 10, 0), value: 10, low: 5, high: 20, lost: 0 },
    { at: Date.UTC(2026, 4, 3, 10, 1), value: null, low: null, high: null, lost: 1 },
  ]);
  expect(pointsOf([])).toEqual([]);
});

test('a day of rounds has as many points as a chart has room for', () => {
  expect(pointsOf(Array.from({ length: 1440 }, (_, minute) => past(minute, 10)))).toHaveLength(360);
});

test('figures', () => {
  expect(
    figuresOf([past(0, 10), past(1, 30), past(2, null), past(3, 20, { rounds: 60, sent: 5, received: 3 })]),
  ).toEqual({ least: 5, median: 20, most: 60, lost: 0.35, rounds: 63 });
  expect(figuresOf([past(0, null)])).toEqual({ least: null, median: null, most: null, lost: 1, rounds: 1 });
  expect(figuresOf([])).toMatchObject({ least: null, lost: 0, rounds: 0 });
});
