import { expect, test } from 'vitest';
import { asked, nameOf, readFilters, stateOf, valueText, written, type Route } from './routes';

const route = (more: Partial<Route> = {}): Route => ({
  route_server: 'rs1',
  table: 'adj-in',
  family: 'l2vpn-vpls',
  nlri: '65000:1 ve 1',
  key: '00ff',
  peer: 'c1',
  rd: '65000:1',
  rts: ['65000:1'],
  next_hop: '192.0.2.1',
  received_at: null,
  attributes: {},
  details: {},
  ...more,
});

test('an address says what is looked for', () => {
  const filters = readFilters(new URLSearchParams('table=adj-out&peer=c1&prefix= 10.1.0.0/24&nonsense=1&reason=loop'));
  expect(filters).toMatchObject({ table: 'adj-out', peer: 'c1', prefix: '10.1.0.0/24' });
  expect(asked(filters)).toEqual({ table: 'adj-out', peer: 'c1', prefix: '10.1.0.0/24' });
  expect(written(filters)).toEqual(asked(filters));
  expect(written(readFilters(new URLSearchParams('table=everything')))).toEqual({});
});

test('only routes in quarantine have a reason', () => {
  expect(asked(readFilters(new URLSearchParams('table=quarantine&reason=loop')))).toHaveProperty('reason', 'loop');
});

test('the worst of a route is its state', () => {
  const name = (more: Partial<Route>) => stateOf(route(more)).name;
  expect(name({})).toBe('accepted');
  expect(name({ stale: true })).toBe('stale');
  expect(name({ stale: true, long_lived: true })).toBe('longLived');
  expect(name({ table: 'adj-out' })).toBe('waiting');
  expect(name({ table: 'adj-out', sent_at: '2026-01-01T00:00:00Z' })).toBe('sent');
  expect(name({ withheld: 'message-size', stale: true })).toBe('withheld');
  expect(stateOf(route({ reason: 'foreign-rt' }))).toEqual({ name: null, reason: 'foreign-rt', tone: 'bad' });
});

test('lines of one route at two servers, or for two PEs, differ', () => {
  const names = [route(), route({ route_server: 'rs2' }), route({ to: 'c2' }), route({ pool: 'blue' })].map(nameOf);
  expect(new Set(names).size).toBe(4);
});

test('values are shown as they are', () => {
  expect(valueText('<b>')).toBe('<b>');
  expect(valueText(['a', 'b'])).toBe('a, b');
  expect(valueText({ type: 1 })).toContain('"type": 1');
  expect(valueText(7)).toBe('7');
});
