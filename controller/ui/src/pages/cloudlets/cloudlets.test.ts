import { expect, test } from 'vitest';
import { agentWord, haystack, labels, search, stateOf, type Cloudlet } from './cloudlets';

const cloudlet = (name: string, more: Partial<Cloudlet> = {}): Cloudlet => ({
  name,
  pe: 'vpls',
  vtep: '192.0.2.1',
  unmanaged: false,
  asn: null,
  ttl_security: null,
  state: 'active',
  approval: false,
  labels: {},
  latitude: null,
  longitude: null,
  reach_m: null,
  created_at: '2026-01-01T00:00:00Z',
  endpoints: [`${name}-lan`],
  agent: { connected: true, last_seen: null, version: null, generation: null },
  sessions: null,
  ...more,
});

const all = [
  cloudlet('turin', { labels: { city: 'Turin' } }),
  cloudlet('milan', { vtep: '192.0.2.77' }),
  cloudlet('rome', { state: 'pending' }),
];
const texts = all.map(haystack);
const names = (words: string, state: '' | 'pending' = '') => search(all, texts, words, state).map((one) => one.name);

test('a search finds names, labels, addresses and endpoints, by all of its words', () => {
  expect(names('')).toEqual(['turin', 'milan', 'rome']);
  expect(names('TUR')).toEqual(['turin']);
  expect(names('192.0.2.77')).toEqual(['milan']);
  expect(names('city=turin lan')).toEqual(['turin']);
  expect(names('turin milan')).toEqual([]);
  expect(names('', 'pending')).toEqual(['rome']);
  expect(names('.*')).toEqual([]);
});

test('an agent that should be there and is not is bad', () => {
  const away = { connected: false, last_seen: null, version: null, generation: null };
  expect(agentWord(cloudlet('a'))).toEqual(['connected', 'good']);
  expect(agentWord(cloudlet('a', { agent: away }))).toEqual(['never', 'bad']);
  expect(agentWord(cloudlet('a', { agent: away, state: 'invited' }))).toEqual(['never', 'quiet']);
  expect(agentWord(cloudlet('a', { agent: { ...away, last_seen: '2026-01-01T00:00:00Z' } }))).toEqual(['away', 'bad']);
  expect(agentWord(cloudlet('a', { unmanaged: true }))).toEqual(['unmanaged', 'quiet']);
});

test('labels without a value are their names', () => {
  expect(labels(cloudlet('a', { labels: { city: 'x', edge: '' } }))).toBe('city=x, edge');
});

test('an address names a state, or none', () => {
  expect([stateOf('pending'), stateOf('nonsense'), stateOf(null)]).toEqual(['pending', '', '']);
});
