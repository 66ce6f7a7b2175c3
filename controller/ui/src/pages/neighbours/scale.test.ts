import { expect, test } from 'vitest';
import { colourOf, linear, luminance, placeOf, SAMPLES } from './scale';

const PLACES = Array.from({ length: 201 }, (_, index) => index / 200);

test('round trips have places by their logarithm', () => {
  expect([0, 0.2, 1, 300, 99_999].map(placeOf)).toEqual([0, 0, 0, 1, 1]);
  const steps = SAMPLES.slice(1).map((ms, index) => placeOf(ms) - placeOf(SAMPLES[index] ?? 1));
  expect(Math.max(...steps) - Math.min(...steps)).toBeLessThan(0.03);
});

test.each([false, true])('all colours exist on a screen, and are told apart by lightness (dark: %s)', (dark) => {
  for (const place of PLACES) for (const part of linear(place, dark)) expect(part >= 0 && part <= 1).toBe(true);
  const bright = PLACES.map((place) => luminance(linear(place, dark)) * (dark ? 1 : -1));
  expect(bright).toEqual([...bright].sort((a, b) => a - b));
});

test.each([false, true])('every number can be read on its colour (dark: %s)', (dark) => {
  for (let ms = 0.5; ms < 500; ms *= 1.05) {
    const { ground, ink } = colourOf(ms, dark);
    const parts = (/\d+, \d+, \d+/.exec(ground)?.[0] ?? '').split(', ').map((part) => Number(part) / 255);
    const [red = 0, green = 0, blue = 0] = parts.map((part) =>
      part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
    );
    const [one, other] = [luminance([red, green, blue]), ink === '#000' ? 0 : 1];
    expect((Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)).toBeGreaterThanOrEqual(4.5);
  }
});
