import { expect, test } from 'vitest';
import { failureIn } from './return';

test('only a word is taken from the address', () => {
  expect(failureIn('?sign-in=no-role')).toBe('no-role');
  expect(failureIn('?sign-in=<b>call 555</b>')).toBeNull();
  expect(failureIn('?x=1')).toBeNull();
});
