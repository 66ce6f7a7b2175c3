import { expect, test } from 'vitest';
import { ago, clock, count, duration, moment } from './format';

test('durations have a unit that fits', () => {
  expect(duration(3.14, 'en')).toBe('3.1 ms');
  expect(duration(61.4, 'en')).toBe('61 ms');
  expect(duration(1240, 'en')).toBe('1.24 s');
  expect(duration(1240, 'de')).toBe('1,24 s');
});

test('counts have separators of the language', () => {
  expect(count(1234567, 'en')).toBe('1,234,567');
  expect(count(1234567, 'de')).toBe('1.234.567');
});

test('a clock never goes below zero', () => {
  expect([clock(59.2), clock(60), clock(3600), clock(-5)]).toEqual(['1:00', '1:00', '1:00:00', '0:00']);
});

test('the date is shown for another day only', () => {
  const now = new Date(2026, 4, 3, 12);
  expect(moment(new Date(2026, 4, 3, 9, 5, 7).toISOString(), now)).toBe('09:05:07');
  expect(moment(new Date(2026, 4, 2, 9, 5, 7).toISOString(), now)).toBe('2026-05-02 09:05:07');
});

test('the time since is in its greatest unit', () => {
  const now = Date.UTC(2026, 0, 2);
  expect(ago(new Date(now - 120_000).toISOString(), 'en', now)).toBe('2 min. ago');
  expect(ago(new Date(now - 86_400_000).toISOString(), 'en', now)).toBe('yesterday');
});
