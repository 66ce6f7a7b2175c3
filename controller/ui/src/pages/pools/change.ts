/** A join or leave: what its rehearsal and its result say. Pure. */

import type { Schemas } from '../../api/client';

/** The controller leaves no field of it out. */
export type ChangeResult = Required<Schemas['ChangeResult']>;
export type Endpoint = Schemas['Endpoint'];
export type Vcp = Schemas['Vcp'];

/** The effect at one PE, over all route servers: each sends the same, so the greater number counts. */
export interface PeerEffect {
  peer: string;
  announced: number;
  withdrawn: number;
  /** Routes that the PE cannot take: too long for it, or held back from it. */
  unsent: number;
  /** Microseconds until the last route server had written it; null if one has not. */
  written: number | null;
}

/** Return the effect at each PE, the greatest first. */
export function effects(result: ChangeResult): PeerEffect[] {
  const found = new Map<string, PeerEffect>();
  for (const server of result.route_servers) {
    for (const one of server.peers) {
      const unsent = (one.withheld ?? 0) + (one.held ?? 0);
      const before = found.get(one.peer);
      found.set(one.peer, {
        peer: one.peer,
        announced: Math.max(before?.announced ?? 0, one.announced),
        withdrawn: Math.max(before?.withdrawn ?? 0, one.withdrawn),
        unsent: Math.max(before?.unsent ?? 0, unsent),
        written:
          one.written_us === null || before?.written === null ? null : Math.max(before?.written ?? 0, one.written_us),
      });
    }
  }
  const size = (one: PeerEffect) => one.announced + one.withdrawn;
  return [...found.values()].sort((a, b) => size(b) - size(a) || a.peer.localeCompare(b.peer));
}

/** Return the numbers of routes that are announced and withdrawn, over all PEs. */
export function totals(all: readonly PeerEffect[]): { announced: number; withdrawn: number } {
  return {
    announced: all.reduce((sum, one) => sum + one.announced, 0),
    withdrawn: all.reduce((sum, one) => sum + one.withdrawn, 0),
  };
}

/** Return the steps that the policy adds, one sentence each. */
export function followed(result: ChangeResult): string[] {
  const steps = result.followed;
  if (!steps) return [];
  return [
    ...(steps.join ?? []).map((one) => `${one.endpoint} → ${one.vcp}`),
    ...(steps.leave ?? []).map((one) => `${one.endpoint} ← ${one.vcp}`),
    ...(steps.create ?? []).map((name) => `+ ${name}`),
    ...(steps.delete ?? []).map((name) => `− ${name}`),
  ];
}

/** Return the endpoints that can join a pool: of its flavour, not in it, and not held back. */
export function candidates(endpoints: readonly Endpoint[], pool: Vcp): Endpoint[] {
  const members = new Set(pool.members);
  const held = (one: Endpoint) => one.consent.state === 'waiting' || one.consent.state === 'withdrawn';
  return endpoints.filter((one) => one.flavour === pool.flavour && !members.has(one.name) && !held(one));
}

/** Return the pools that have all words of a search in their name, description or members. */
export function search(pools: readonly Vcp[], words: string): Vcp[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (one: Vcp) => [one.name, one.description, one.flavour, ...one.members].join(' ').toLowerCase();
  return wanted.length === 0 ? [...pools] : pools.filter((one) => wanted.every((word) => text(one).includes(word)));
}
