import { expect, test } from 'vitest';
import { asMedians, byEnds, link, members, pairs, toneOf, type Cloudlet, type Endpoint, type Tunnel } from './region';

const lan = (name: string, cloudlet: string, ...vcps: string[]) => ({ name, cloudlet, vcps }) as unknown as Endpoint;
const LANS = [lan('a1', 'a', 'blue'), lan('b1', 'b', 'blue', 'red'), lan('c1', 'c', 'red'), lan('d1', 'd')];
const tunnel = (cloudlet: string, peer: string, state: string) => ({ cloudlet, peer, state }) as unknown as Tunnel;
const cloudlet = (state: string, connected: boolean) =>
  ({ state, unmanaged: false, agent: { connected, last_seen: 'x' } }) as unknown as Cloudlet;

test('pairs are those that share a pool', () => {
  expect(pairs(members(LANS, ''), '')).toEqual([
    { one: 'a', other: 'b', pools: ['blue'] },
    { one: 'b', other: 'c', pools: ['red'] },
  ]);
  expect(pairs(members(LANS, 'red'), '')).toEqual([{ one: 'b', other: 'c', pools: ['red'] }]);
  expect(pairs(members(LANS, ''), 'a')).toEqual([{ one: 'a', other: 'b', pools: ['blue'] }]);
  expect(pairs(members(LANS, ''), 'd')).toEqual([]);
});

test('a pair has all its pools, and two LANs of a cloudlet are no pair', () => {
  const twice = [lan('a1', 'a', 'red', 'blue'), lan('b1', 'b', 'blue', 'red'), lan('a2', 'a', 'blue')];
  expect(pairs(members(twice, ''), '')).toEqual([{ one: 'a', other: 'b', pools: ['blue', 'red'] }]);
});

test('too many pairs are none, but those of one cloudlet are always there', () => {
  const many = Array.from({ length: 50 }, (_, index) => lan(`l${index}`, `c${index}`, 'blue'));
  expect(pairs(members(many, ''), '', 100)).toBeNull();
  expect(pairs(members(many, ''), 'c7', 100)).toHaveLength(49);
});

test.each([
  [{}, [], 'unknown', null],
  [{ a: { b: 3 } }, [], 'up', 3],
  [{ a: { b: 3 }, b: { a: 5 } }, [], 'up', 5],
  [{ a: { b: null }, b: { a: 5 } }, [], 'up', 5],
  [{ a: { b: null } }, [], 'down', null],
  [{ a: { b: 3 } }, [tunnel('a', 'b', 'up'), tunnel('b', 'a', 'connecting')], 'connecting', 3],
  [{ a: { b: 3 } }, [tunnel('b', 'a', 'down'), tunnel('a', 'b', 'up')], 'down', 3],
  [{}, [tunnel('a', 'c', 'down')], 'unknown', null],
])('a way is the worse of its tunnels, or what echoes say: %j', (medians, tunnels, way, rtt) => {
  expect(link({ one: 'a', other: 'b', pools: [] }, medians, byEnds(tunnels))).toMatchObject({ way, rtt });
});

test('stale measurements say nothing', () => {
  const one = { cloudlet: 'a', neighbour: 'b', median_ms: 3, stale: false };
  const found = asMedians([one, { ...one, neighbour: '__proto__' }, { ...one, neighbour: 'c', stale: true }] as never);
  expect(Object.keys(found)).toEqual(['a']);
  expect(found['a']?.['b']).toBe(3);
  expect(found['a']?.['c']).toBeUndefined();
});

test('a missing agent is graver than a state', () => {
  expect(toneOf(cloudlet('draining', false))).toBe('bad');
  expect(toneOf(cloudlet('draining', true))).toBe('thread');
  expect(toneOf(cloudlet('pending', true))).toBe('warn');
  expect(toneOf(cloudlet('active', true))).toBe('good');
});
