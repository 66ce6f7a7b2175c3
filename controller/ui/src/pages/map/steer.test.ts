import { expect, test } from 'vitest';
import { nearest } from './steer';

const POINTS = [
  { x: 0, y: 0 },
  { x: 100, y: 10 },
  { x: 60, y: 80 },
  { x: 0, y: 50 },
  { x: -20, y: 0 },
];

test.each([
  ['ArrowRight', 1],
  ['ArrowDown', 3],
  ['ArrowLeft', 4],
  ['ArrowUp', null],
  ['Enter', null],
])('%s leads to %s', (key, wanted) => expect(nearest(POINTS, 0, key)).toBe(wanted));

test('a point that is not there leads nowhere', () => expect(nearest(POINTS, -1, 'ArrowRight')).toBeNull());
