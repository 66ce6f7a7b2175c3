import { expect, test } from 'vitest';
import { candidates, effects, followed, search, totals, type ChangeResult, type Endpoint, type Vcp } from './change';

const peer = (name: string, announced: number, withdrawn: number, written_us: number | null = 5) => ({
  peer: name,
  announced,
  withdrawn,
  withheld: 0,
  written_us,
  held: 0,
});

const receipt = (name: string, peers: ReturnType<typeof peer>[]) => ({
  route_server: name,
  generation: 7,
  previous: 6,
  announced: 0,
  withdrawn: 0,
  peers,
  duration_us: 90,
  dry_run: false,
  held: 0,
});

const result = (more: Partial<ChangeResult>): ChangeResult => ({
  generation: 7,
  in_force: true,
  duration_ms: 61,
  route_servers: [],
  unreachable: [],
  agents: [],
  behind: [],
  unmanaged: [],
  dry_run: false,
  confirm_by: null,
  followed: null,
  interrupted: [],
  ...more,
});

test('what both route servers send counts once', () => {
  const both = result({
    route_servers: [
      receipt('rs1', [peer('c1', 2, 0, 40), peer('c2', 1, 1)]),
      receipt('rs2', [peer('c1', 2, 0, 70), peer('c3', 0, 9, null)]),
    ],
  });
  const found = effects(both);
  expect(found.map((one) => [one.peer, one.announced, one.withdrawn, one.written])).toEqual([
    ['c3', 0, 9, null],
    ['c1', 2, 0, 70],
    ['c2', 1, 1, 5],
  ]);
  expect(totals(found)).toEqual({ announced: 3, withdrawn: 10 });
  expect(effects(result({}))).toEqual([]);
});

test('steps that the policy adds are named', () => {
  expect(followed(result({}))).toEqual([]);
  const steps = { join: [{ vcp: 'blue', endpoint: 'c1-lan' }], create: ['red'] };
  expect(followed(result({ followed: steps as never }))).toEqual(['c1-lan → blue', '+ red']);
});

test('only what can join is offered', () => {
  const endpoint = (name: string, flavour: string, state = 'given') =>
    ({ name, flavour, consent: { state } }) as Endpoint;
  const all = [endpoint('a', 'vpls'), endpoint('b', 'evpn'), endpoint('c', 'vpls'), endpoint('d', 'vpls', 'waiting')];
  const pool = { name: 'blue', flavour: 'vpls', members: ['a'] } as unknown as Vcp;
  expect(candidates(all, pool).map((one) => one.name)).toEqual(['c']);
});

test('a search finds pools by their members', () => {
  const pools = [
    { name: 'blue', description: 'Clinics', flavour: 'vpls', members: ['c1-lan'] },
    { name: 'red', description: '', flavour: 'evpn', members: [] },
  ] as unknown as Vcp[];
  expect(search(pools, 'c1-LAN').map((one) => one.name)).toEqual(['blue']);
  expect(search(pools, 'evpn').map((one) => one.name)).toEqual(['red']);
  expect(search(pools, ' ')).toHaveLength(2);
});
