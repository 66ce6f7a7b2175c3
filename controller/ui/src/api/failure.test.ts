import { expect, test } from 'vitest';
import { asFailure, readProblem } from './failure';

test('a problem says what is wrong, and where', () => {
  const body = { detail: 'the prefix overlaps', errors: [{ field: 'prefix', message: 'overlaps' }, 7], instance: '/x' };
  const found = readProblem(409, body);
  expect([found.message, found.remedy, found.errors]).toEqual([
    'the prefix overlaps',
    'conflict',
    [{ field: 'prefix', message: 'overlaps' }],
  ]);
});

test('a problem has places in a file, and what has changed meanwhile', () => {
  const error = { field: 'vcps.blue', message: 'no', line: 3, column: 5, suggestion: null };
  const found = readProblem(412, { detail: 'x', errors: [error], diff: '+a' });
  expect([found.errors[0]?.line, found.diff, readProblem(412, {}).diff]).toEqual([3, '+a', '']);
});

test.each([undefined, null, 'x', 7, [], { detail: 7, errors: 'none' }])('any body will do: %j', (body) => {
  expect(readProblem(500, body).message).toBe('HTTP 500');
  expect(readProblem(500, body).remedy).toBe('log');
});

test('an error of the page itself is shown too', () => {
  expect(asFailure(new TypeError('no')).message).toBe('no');
  expect(asFailure('no').away).toBe(false);
});
