import { expect, test } from 'vitest';
import { ago, bitrate, bytes, clock, clockOrDay, count, duration, moment, percent, seconds } from './format';

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

test('sizes and rates have a unit that fits', () => {
  expect([0, 1023, 1536, 132_120_576].map((value) => bytes(value, 'en'))).toEqual([
    '0 bytes',
    '1,023 bytes',
    '1.5 KiB',
    '126 MiB',
  ]);
  expect(bytes(1536, 'de')).toBe('1,5 KiB');
  expect([800, 60e6, 2.5e9].map((value) => bitrate(value, 'en'))).toEqual(['800 bit/s', '60 Mbit/s', '2.5 Gbit/s']);
});

test('seconds and parts', () => {
  expect([0.54, 61.2, 725].map((value) => seconds(value, 'en'))).toEqual(['0.5 s', '61 s', '12:05']);
  expect(percent(0.123, 'en')).toBe('12%');
});

test('ticks of an axis are times or days', () => {
  const at = new Date(2026, 4, 3, 9, 5).getTime();
  expect(clockOrDay(at, 3_600_000, 'de')).toBe('09:05');
  expect(clockOrDay(at, 86_400_000, 'en')).toBe('May 3');
  expect(clockOrDay(at, 91 * 86_400_000, 'en')).toContain('26');
});
