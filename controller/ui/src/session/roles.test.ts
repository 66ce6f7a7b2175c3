import { expect, test } from 'vitest';
import { may } from './roles';

test('each role may what the one before may', () => {
  expect(may('viewer', 'viewer')).toBe(true);
  expect(may('viewer', 'network-engineer')).toBe(false);
  expect(may('operator', 'network-engineer')).toBe(true);
  expect(may('admin', 'operator')).toBe(true);
});

test('a tenant has pages of its own', () => {
  expect(may('tenant', 'viewer')).toBe(false);
  expect(may('tenant', 'tenant')).toBe(true);
  expect(may('admin', 'tenant')).toBe(false);
  expect(may(undefined, 'viewer')).toBe(false);
});
