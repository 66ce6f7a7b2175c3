import { expect, test } from 'vitest';
import { clusters, degrees, fitted, metresToPixel, middle, placed, ruler, type Placed, type Spot } from './places';

const place = (name: string, latitude: number, longitude: number): Placed => ({ name, latitude, longitude });
const spot = (name: string, x: number, y: number, tone: Spot['tone'] = 'good'): Spot => ({ name, x, y, tone });

test('only cloudlets with a place are placed', () => {
  const some = [place('a', 45, 7), { name: 'b', latitude: null, longitude: null }];
  expect(placed(some as never)).toEqual([place('a', 45, 7)]);
});

test.each([
  [[7], 7],
  [[0, 10], 5],
  [[170, -170], -180],
  [[-100, 100], -180],
  [[-20, 0, 40], 10],
])('the middle of %j is %d', (longitudes, wanted) => expect(middle(longitudes)).toBeCloseTo(wanted));

test.each([
  [[place('a', 45, 7), place('b', 48, 11)]],
  [[place('a', -17, 179), place('b', -18, -179)]],
  [[place('a', 45, 7)]],
  [[place('a', 45, 7), place('b', 45, 7)]],
])('all places are in sight: %j', (places) => {
  const projection = fitted(places, 800, 500);
  for (const one of places) {
    const [x, y] = projection([one.longitude, one.latitude]) ?? [NaN, NaN];
    expect(x).toBeGreaterThanOrEqual(0);
    expect(x).toBeLessThanOrEqual(800);
    expect(y).toBeGreaterThanOrEqual(0);
    expect(y).toBeLessThanOrEqual(500);
  }
  expect(metresToPixel(projection, 800, 500, 1)).toBeGreaterThan(3);
});

test('no place shows the whole earth', () => {
  expect(fitted([], 800, 500)([0, 0])?.map(Math.round)).toEqual([400, 250]);
});

test('a metre of the map is a metre of the earth', () => {
  const places = [place('a', 45, 7), place('b', 45, 7.1)];
  const projection = fitted(places, 1000, 500);
  const [one, other] = places.map((each) => projection([each.longitude, each.latitude]) ?? [0, 0]);
  const pixels = (other?.[0] ?? 0) - (one?.[0] ?? 0);
  expect(pixels * metresToPixel(projection, 1000, 500, 1)).toBeCloseTo(7863, -2); // a tenth of a degree at 45° north
  expect(metresToPixel(projection, 1000, 500, 4) * 4).toBeCloseTo(metresToPixel(projection, 1000, 500, 1));
});

test.each([
  [1, 100],
  [9.3, 1000],
  [500, 50_000],
  [0.004, 0.2],
])('a ruler has a round length: %d m to a pixel', (metres, wanted) => {
  const found = ruler(metres);
  expect(found.metres).toBeCloseTo(wanted);
  expect(found.pixels).toBeLessThanOrEqual(120);
  expect(found.pixels).toBeGreaterThan(45);
});

test('a degree is 111 km', () => expect(degrees(111_195)).toBeCloseTo(1, 3));

test('few spots are drawn by themselves, many in cells of the screen', () => {
  const spots = [spot('a', 10, 10), spot('b', 12, 12, 'bad'), spot('c', 200, 10)];
  const still = { x: 0, y: 0, k: 1 };
  expect(clusters(spots, still)).toHaveLength(3);
  expect(clusters(spots, still, 2)).toEqual([
    { x: 11, y: 11, names: ['a', 'b'], tone: 'bad' },
    { x: 200, y: 10, names: ['c'], tone: 'good' },
  ]);
  expect(clusters(spots, { x: 5, y: 0, k: 50 }, 2).map((one) => one.names)).toEqual([['a'], ['b'], ['c']]);
});
