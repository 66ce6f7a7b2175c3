import { expect, test } from 'vitest';
import type { Tone } from '../../components/Badge.svelte';
import type { Endpoint, Vcp } from './region';
import { box, radius, topology } from './topology';

const lan = (name: string, cloudlet: string, ...vcps: string[]) => ({ name, cloudlet, vcps }) as unknown as Endpoint;
const pool = (name: string) => ({ name }) as unknown as Vcp;
const LANS = [lan('a1', 'a', 'blue'), lan('b1', 'b', 'red', 'blue'), lan('c1', 'c', 'red'), lan('d1', 'd')];
const POOLS = [pool('blue'), pool('red'), pool('empty')];
const TONES = new Map<string, Tone>([
  ['a', 'good'],
  ['b', 'bad'],
]);

test('each pool and LAN is a node', () => {
  const found = topology(LANS, POOLS, TONES, '');
  expect(found.nodes.map((node) => [node.id, node.count, node.tone])).toEqual([
    ['pool blue', 2, 'thread'],
    ['pool red', 2, 'thread'],
    ['pool empty', 0, 'thread'],
    ['endpoint a1', 1, 'good'],
    ['endpoint b1', 1, 'bad'],
    ['endpoint c1', 1, 'quiet'],
  ]);
  expect(found.edges).toHaveLength(4);
  expect(found.edges).toContainEqual({ source: 'endpoint b1', target: 'pool red' });
  expect(found.alone).toBe(1);
});

test('of one pool, its LANs and the pools that these are in', () => {
  const found = topology(LANS, POOLS, TONES, 'blue');
  expect(found.nodes.map((node) => node.id)).toEqual(['pool blue', 'pool red', 'endpoint a1', 'endpoint b1']);
  expect(found.alone).toBe(0);
});

test('very many LANs are drawn by the pools that they share', () => {
  const many = Array.from({ length: 900 }, (_, index) => lan(`l${index}`, index ? 'a' : 'b', 'blue', 'red'));
  const found = topology([...many, ...LANS], POOLS, TONES, '');
  const groups = found.nodes.filter((node) => node.kind === 'group');
  expect(groups.map((node) => [node.pools, node.count, node.tone])).toEqual([
    [['blue', 'red'], 901, 'bad'],
    [['blue'], 1, 'good'],
    [['red'], 1, 'good'],
  ]);
  expect(found.edges).toHaveLength(4);
});

test('a pool that is not listed any more has no edge', () => {
  expect(topology(LANS, [pool('blue')], TONES, '').edges).toHaveLength(2);
});

test('a node is as large as it has members, up to a bound', () => {
  const [small, , , one] = topology(LANS, POOLS, TONES, '').nodes;
  if (!small || !one) throw new Error('no nodes');
  expect(radius(one)).toBeLessThan(radius(small));
  expect(radius({ ...small, count: 1e9 })).toBeLessThan(40);
});

test('a box is around all points', () => {
  expect(box([])).toBeNull();
  expect(
    box(
      [
        { x: 1, y: 2 },
        { x: -3, y: 5 },
      ],
      10,
    ),
  ).toEqual([-13, -8, 11, 15]);
});
