import { expect, test } from 'vitest';
import { agreed, changes, diffLines, marks, readPolicy, steps, type PolicyPlan } from './policy';

test('steps have the signs of a diff', () => {
  const plan = {
    create: ['blue'],
    delete: ['red'],
    join: [{ endpoint: 'c1-lan', vcp: 'blue' }],
    leave: [{ endpoint: 'c2-lan', vcp: 'red' }],
    settings: [
      { path: 'a', before: null, after: '1' },
      { path: 'b', before: '1', after: null },
      { path: 'c', before: '1', after: '2' },
    ],
    waiting: [{ endpoint: 'c3-lan', vcp: 'blue', why: 'not active' }],
  };
  expect(steps(plan).map((step) => step.sign + step.kind)).toEqual([
    '+create',
    '-delete',
    '+join',
    '-leave',
    '+setting',
    '-setting',
    '~setting',
    '·waiting',
  ]);
  expect(changes(plan)).toBe(true);
  expect(changes({ waiting: plan.waiting })).toBe(false);
});

test('a diff has its lines', () => {
  const found = diffLines('--- 1\n+++ 2\n@@ -1 +1 @@\n-a\n+b\n c\n');
  expect(found.map((line) => line.kind)).toEqual(['place', 'place', 'place', 'minus', 'plus', 'same']);
  expect(diffLines('')).toEqual([]);
});

test('errors are marked at their places', () => {
  const text = 'one\n  two: x\n\nend';
  const error = (line: number | null, column: number | null) => ({ field: '', message: 'no', line, column });
  expect(marks(text, [error(2, 3)], 'error')).toEqual([{ from: 6, to: 12, severity: 'error', message: 'no' }]);
  expect(marks(text, [error(3, 1)], 'warning')[0]).toMatchObject({ from: 13, to: 13 });
  expect(marks(text, [error(1, 99)], 'error')[0]).toMatchObject({ from: 2, to: 3 });
  expect(marks(text, [error(null, null), error(9, 1), error(0, 1)], 'error')).toEqual([]);
  expect(marks('a', [{ ...error(1, 1), suggestion: 'b' }], 'error')[0]?.message).toBe('no (b?)');
});

test('harm has to be agreed to, and failing tests cannot be', () => {
  const plan = (more: object) => ({ disconnects: [], unconsented: [], tests: [], ...more }) as unknown as PolicyPlan;
  const nothing = { disconnect: false, unconsented: '' as const };
  expect(agreed(plan({}), nothing)).toBe(true);
  expect(agreed(plan({ disconnects: [{}] }), nothing)).toBe(false);
  expect(agreed(plan({ disconnects: [{}] }), { ...nothing, disconnect: true })).toBe(true);
  expect(agreed(plan({ unconsented: ['c1-lan'] }), nothing)).toBe(false);
  expect(agreed(plan({ unconsented: ['c1-lan'] }), { ...nothing, unconsented: 'hold' })).toBe(true);
  expect(agreed(plan({ tests: [{ outcome: 'failed' }] }), nothing)).toBe(false);
  expect(agreed(plan({ tests: [{ outcome: 'skipped' }] }), nothing)).toBe(true);
});

test('an address names a view and revisions', () => {
  expect(readPolicy(new URLSearchParams('view=history&before=3&after=x'))).toEqual({
    view: 'history',
    before: 3,
    after: null,
  });
  expect(readPolicy(new URLSearchParams('view=x')).view).toBe('now');
});
