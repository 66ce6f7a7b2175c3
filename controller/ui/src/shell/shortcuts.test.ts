import { expect, test } from 'vitest';
import { press } from './shortcuts';

const goals = { c: '/cloudlets' };

test('g and a key go to a page', () => {
  expect(press({ key: 'g', elsewhere: false }, false, goals)).toEqual({ act: null, waiting: true });
  expect(press({ key: 'c', elsewhere: false }, true, goals)).toEqual({
    act: { kind: 'go', path: '/cloudlets' },
    waiting: false,
  });
  expect(press({ key: 'toString', elsewhere: false }, true, goals).act).toBeNull();
  expect(press({ key: 'c', elsewhere: false }, false, goals).act).toBeNull();
});

test('single keys', () => {
  expect(press({ key: '?', elsewhere: false }, false, goals).act).toEqual({ kind: 'help' });
  expect(press({ key: '/', elsewhere: false }, false, goals).act).toEqual({ kind: 'search' });
});

test('a user who types means letters', () => {
  expect(press({ key: '?', elsewhere: true }, false, goals)).toEqual({ act: null, waiting: false });
  expect(press({ key: 'c', elsewhere: true }, true, goals)).toEqual({ act: null, waiting: false });
});
