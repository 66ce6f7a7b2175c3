import { expect, test } from 'vitest';
import {
  addressesOf,
  hosted,
  keptPairs,
  marksOf,
  namesOf,
  pairsOf,
  pairText,
  place,
  tally,
  toAddress,
  toNumber,
  untilOf,
  type Holdings,
  type Lease,
} from './plan';

const AT = '2026-05-03T10:00:00Z';
const LATER = '2026-05-03T11:00:00Z';

const lease = (address: string, more: Partial<Lease> = {}): Lease => ({
  id: 1,
  endpoint: 'c1-lan',
  device: 'm1',
  kind: 'md',
  address,
  address6: null,
  mac: '02:00:5e:00:00:01',
  client_id: null,
  hostname: null,
  granted_at: AT,
  expires_at: AT,
  ...more,
});

const reservation = { id: 7, endpoint: 'c1-lan', device: 'm2', md: '10.1.0.4', vm: '10.1.0.5', md6: null, vm6: null };
const byPolicy = { ...reservation, device: 'm3', md: '10.1.0.6', vm: '10.1.0.7', has: '10.1.0.2', in_force: false };
const host = (name: string, address: string, until: string | null = null) => {
  return { name, address, mac: null, added_at: AT, until };
};

const found: Holdings = {
  leases: [
    lease('10.1.0.4', { device: 'm2', hostname: 'phone' }),
    lease('10.1.0.3', { kind: 'vm', expires_at: LATER }),
    lease('10.1.0.2'),
    lease('10.9.9.9'),
  ],
  reservations: [{ ...reservation, held_until: LATER }],
  byPolicy: [byPolicy],
  statics: [host('printer', '10.1.0.9'), host('declined-10-1-0-10', '10.1.0.10', LATER)],
};

const pairs = pairsOf('10.1.0.0/24', 126, found);

test('addresses are numbers and back', () => {
  expect(toNumber('10.1.0.2')).toBe(167_837_698);
  for (const one of ['0.0.0.0', '10.1.0.2', '255.255.255.255']) expect(toAddress(toNumber(one) ?? -1)).toBe(one);
  for (const wrong of ['', '10.1.0', '10.1.0.256', '10.1.0.2.3', '::1', 'a.b.c.d']) expect(toNumber(wrong)).toBeNull();
});

test('a pair is an even address and the odd one above it', () => {
  expect(place('10.1.0.0/24', 126, '10.1.0.2')).toEqual({ number: 0, odd: 0 });
  expect(place('10.1.0.0/24', 126, '10.1.0.253')).toEqual({ number: 125, odd: 1 });
  expect(addressesOf('10.1.0.0/24', 125)).toEqual(['10.1.0.252', '10.1.0.253']);
  for (const none of ['10.1.0.0', '10.1.0.1', '10.1.0.254', '10.1.0.255', '10.0.255.255', '10.2.0.2', 'x'])
    expect(place('10.1.0.0/24', 126, none), none).toBeNull();
});

test('pairs in use are in the order of the plan, each once', () => {
  expect(pairs.map((one) => [one.number, one.md, marksOf(one)])).toEqual([
    [0, '10.1.0.2', ['md', 'vm']],
    [1, '10.1.0.4', ['md', 'reserved']],
    [2, '10.1.0.6', ['policy']],
    [3, '10.1.0.8', ['static']],
    [4, '10.1.0.10', ['declined']],
  ]);
  expect(hosted(pairs)).toBe(2);
  expect(tally(pairs)).toEqual({ md: 2, vm: 1, static: 1, declined: 1, reserved: 1, policy: 1 });
});

test('a pair has names and an end', () => {
  expect(pairs.map(namesOf)).toEqual([['m1'], ['m2'], ['m3'], ['printer'], ['declined-10-1-0-10']]);
  expect(pairs.map(untilOf)).toEqual([LATER, LATER, null, null, LATER]);
});

test('a search finds a pair by all that is known of it', () => {
  for (const word of ['10.1.0.5', 'm2', '02:00:5e', 'phone']) expect(pairText(pairs[1] ?? raise())).toContain(word);
});

test('reservations of operators can be given up, and the policy’s tell what is in their way', () => {
  expect(keptPairs(found).map(({ key, id, until, has }) => [key, id, until, has])).toEqual([
    ['id-7', 7, LATER, null],
    ['policy-m3', null, null, '10.1.0.2'],
  ]);
});

function raise(): never {
  throw new Error('no pair');
}
