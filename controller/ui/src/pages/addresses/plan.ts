/** The pairs of a LAN's address plan, and who has them (`controller/core/addresses.py`): address 0 is the network's, 1
    the gateway's, and from 2 on an even address is a device's and the odd one above it its VM's. Pure. */

import type { Schemas } from '../../api/client';
import type { Tone } from '../../components/Badge.svelte';

export type Lease = Schemas['Lease'];
export type Reservation = Schemas['Reservation'];
export type PolicyReservation = Schemas['PolicyReservation'];
export type StaticHost = Schemas['StaticHost'];

/** What the API tells of a LAN's addresses. */
export interface Holdings {
  leases: readonly Lease[];
  reservations: readonly Reservation[];
  byPolicy: readonly PolicyReservation[];
  statics: readonly StaticHost[];
}

/** What an address, or a pair, can be apart from free. `declined`: a client found it in use by an unknown machine. */
export type Mark = 'md' | 'vm' | 'static' | 'declined' | 'reserved' | 'policy';

export const MARKS: readonly Mark[] = ['md', 'vm', 'reserved', 'policy', 'static', 'declined'];

export const MARK_TONES: Record<Mark, Tone> = {
  md: 'thread',
  vm: 'good',
  static: 'quiet',
  declined: 'bad',
  reserved: 'warn',
  policy: 'warn',
};

/** A pair that is not free. */
export interface Pair {
  /** Its number in the plan, from 0. */
  number: number;
  md: string;
  vm: string;
  /** What its even and its odd address are. */
  halves: [Half, Half];
  reservation: Reservation | null;
  byPolicy: PolicyReservation | null;
}

export interface Half {
  lease: Lease | null;
  host: StaticHost | null;
}

/** Return an IPv4 address as a number, null for anything else. */
export function toNumber(address: string): number | null {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(address)?.slice(1).map(Number);
  if (!parts || parts.some((one) => one > 255)) return null;
  return parts.reduce((sum, one) => sum * 256 + one, 0);
}

/** Return a number as an IPv4 address. */
export function toAddress(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}

/** Return the number of the pair of an address, and whether it is the odd one; null if it is none of the plan's. */
export function place(prefix: string, capacity: number, address: string): { number: number; odd: 0 | 1 } | null {
  const base = toNumber(prefix.split('/')[0] ?? '');
  const value = toNumber(address);
  if (base === null || value === null) return null;
  const number = Math.floor((value - base) / 2) - 1;
  if (number < 0 || number >= capacity) return null;
  return { number, odd: (value - base) % 2 === 1 ? 1 : 0 };
}

/** Return the even and the odd address of a pair. */
export function addressesOf(prefix: string, number: number): [string, string] {
  const base = (toNumber(prefix.split('/')[0] ?? '') ?? 0) + 2 * number + 2;
  return [toAddress(base), toAddress(base + 1)];
}

/** Return the pairs that are not free, in the order of the plan. */
export function pairsOf(prefix: string, capacity: number, found: Holdings): Pair[] {
  const pairs = new Map<number, Pair>();
  const at = (address: string): [Pair, 0 | 1] | null => {
    const where = place(prefix, capacity, address);
    if (!where) return null;
    const [md, vm] = addressesOf(prefix, where.number);
    const pair: Pair = pairs.get(where.number) ?? {
      number: where.number,
      md,
      vm,
      halves: [
        { lease: null, host: null },
        { lease: null, host: null },
      ],
      reservation: null,
      byPolicy: null,
    };
    pairs.set(where.number, pair);
    return [pair, where.odd];
  };
  for (const lease of found.leases) {
    const [pair, odd] = at(lease.address) ?? [];
    if (pair && odd !== undefined) pair.halves[odd].lease = lease;
  }
  for (const host of found.statics) {
    const [pair, odd] = at(host.address) ?? [];
    if (pair && odd !== undefined) pair.halves[odd].host = host;
  }
  for (const one of found.reservations) {
    const [pair] = at(one.md) ?? [];
    if (pair) pair.reservation = one;
  }
  for (const one of found.byPolicy) {
    const [pair] = at(one.md) ?? [];
    if (pair) pair.byPolicy = one;
  }
  return [...pairs.values()].sort((a, b) => a.number - b.number);
}

/** Return what one address of a pair is; null if it is free. */
export function markOf(half: Half, odd: 0 | 1): Mark | null {
  if (half.host) return half.host.until === null ? 'static' : 'declined';
  if (half.lease) return odd === 1 ? 'vm' : 'md';
  return null;
}

/** Return all that a pair is, in the order of `MARKS`. */
export function marksOf(pair: Pair): Mark[] {
  const there = new Set<Mark | null>([markOf(pair.halves[0], 0), markOf(pair.halves[1], 1)]);
  if (pair.reservation) there.add('reserved');
  if (pair.byPolicy) there.add('policy');
  return MARKS.filter((one) => there.has(one));
}

/** Return how many addresses (of `reserved` and `policy`: pairs) are so. */
export function tally(pairs: readonly Pair[]): Record<Mark, number> {
  const found: Record<Mark, number> = { md: 0, vm: 0, static: 0, declined: 0, reserved: 0, policy: 0 };
  for (const pair of pairs) {
    for (const odd of [0, 1] as const) {
      const mark = markOf(pair.halves[odd], odd);
      if (mark) found[mark] += 1;
    }
    if (pair.reservation) found.reserved += 1;
    if (pair.byPolicy) found.policy += 1;
  }
  return found;
}

/** Return the number of pairs that static hosts take out of the plan. */
export function hosted(pairs: readonly Pair[]): number {
  return pairs.filter((pair) => pair.halves.some(({ host }) => host !== null)).length;
}

/** Return the names of those who have a pair: devices and static hosts, each once. */
export function namesOf(pair: Pair): string[] {
  const names = [
    ...pair.halves.flatMap(({ lease, host }) => [lease?.device, host?.name]),
    pair.reservation?.device,
    pair.byPolicy?.device,
  ];
  return [...new Set(names.filter((one) => one !== undefined))];
}

/** Return when a pair may be free again at the latest that is known, null if it is kept for good or not known. */
export function untilOf(pair: Pair): string | null {
  const forGood = pair.byPolicy !== null || pair.halves.some(({ host }) => host !== null && host.until === null);
  if (forGood) return null;
  const ends = [
    ...pair.halves.flatMap(({ lease, host }) => [lease?.expires_at, host?.until]),
    pair.reservation?.held_until,
  ].filter((one) => one !== undefined && one !== null);
  return ends.sort((a, b) => new Date(a).getTime() - new Date(b).getTime()).at(-1) ?? null;
}

/** Return the text in which a search looks for a pair. */
export function pairText(pair: Pair): string {
  const leases = pair.halves.flatMap(({ lease }) => (lease ? [leaseText(lease)] : []));
  const hosts = pair.halves.flatMap(({ host }) => (host ? [hostText(host)] : []));
  return [pair.md, pair.vm, ...namesOf(pair), ...leases, ...hosts].join(' ');
}

/** Return the text in which a search looks for a lease. */
export function leaseText(lease: Lease): string {
  const { address, address6, device, mac, client_id, hostname, kind } = lease;
  return [address, address6, device, mac, client_id, hostname, kind].filter(Boolean).join(' ');
}

/** Return the text in which a search looks for a static host. */
export function hostText(host: StaticHost): string {
  return [host.name, host.address, host.mac].filter(Boolean).join(' ');
}

/** A reservation as a line of one list, of an operator or of the policy. */
export interface Kept {
  key: string;
  device: string;
  md: string;
  vm: string;
  md6: string | null;
  /** The reservation that can be given up; null for the policy's. */
  id: number | null;
  until: string | null;
  /** The address that the device still has, while the policy's reservation is not in force. */
  has: string | null;
}

/** Return the reservations of operators, then those of the policy. */
export function keptPairs(found: Holdings): Kept[] {
  return [
    ...found.reservations.map(({ id, device, md, vm, md6, held_until }) => {
      return { key: `id-${id}`, device, md, vm, md6, id, until: held_until, has: null };
    }),
    ...found.byPolicy.map(({ device, md, vm, md6, has, in_force }) => {
      return { key: `policy-${device}`, device, md, vm, md6, id: null, until: null, has: in_force ? null : has };
    }),
  ];
}
