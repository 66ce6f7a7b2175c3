import { expect, test } from 'vitest';
import { restAfter } from './pace';

test('a load that takes long is followed by a rest', () => {
  expect([restAfter(50), restAfter(999), restAfter(3000)]).toEqual([0, 0, 12_000]);
});
