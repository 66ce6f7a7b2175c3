/** What lies between the cloudlets: the pairs that share a pool, and what is known of the way of each. Pure. */

import type { Schemas } from '../../api/client';
import type { Tone } from '../../components/Badge.svelte';
import { agentWord } from '../cloudlets/cloudlets';

export type Cloudlet = Schemas['Cloudlet'];
export type Endpoint = Schemas['Endpoint'];
export type Vcp = Schemas['Vcp'];
export type Tunnel = Schemas['Tunnel'];

/** Median round trips in milliseconds, by measuring cloudlet, then by neighbour; null if no echo came back. */
export type Medians = Readonly<Record<string, Readonly<Record<string, number | null>>>>;

/** What is known of the way between two cloudlets: by their tunnel if they have one, or else by the last echoes. */
export type Way = 'up' | 'connecting' | 'down' | 'unknown';

export const WAYS: Record<Way, Tone> = { up: 'good', connecting: 'warn', down: 'bad', unknown: 'quiet' };

export interface Pair {
  /** The two cloudlets, in the order of their names. */
  one: string;
  other: string;
  pools: readonly string[];
}

export interface Link extends Pair {
  way: Way;
  /** The longer of both directions' median round trips, in milliseconds; null if there is none. */
  rtt: number | null;
}

/** Return the tone of a cloudlet: its agent's, unless it waits for approval or drains. */
export function toneOf(cloudlet: Cloudlet): Tone {
  const [, agent] = agentWord(cloudlet);
  if (agent === 'bad') return agent;
  return cloudlet.state === 'pending' ? 'warn' : cloudlet.state === 'draining' ? 'thread' : agent;
}

/** Most pairs of which all are drawn: more could not be told apart. */
export const MOST_PAIRS = 400;

/** Return the cloudlets of each pool: of all pools, or of one. */
export function members(endpoints: readonly Endpoint[], pool: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const endpoint of endpoints) {
    for (const name of endpoint.vcps) {
      if (pool !== '' && name !== pool) continue;
      const those = found.get(name);
      if (those) those.add(endpoint.cloudlet);
      else found.set(name, new Set([endpoint.cloudlet]));
    }
  }
  return found;
}

/** Return the pairs of cloudlets that share a pool, sorted; with `of`, those of one cloudlet. Null if there are more than
    `most`. */
export function pairs(pools: ReadonlyMap<string, ReadonlySet<string>>, of: string, most = MOST_PAIRS): Pair[] | null {
  const found = new Map<string, Pair & { pools: string[] }>();
  for (const [pool, cloudlets] of [...pools].sort(([a], [b]) => a.localeCompare(b))) {
    const names = [...cloudlets].sort();
    if (of !== '' && !cloudlets.has(of)) continue;
    for (const [index, one] of names.entries()) {
      for (const other of names.slice(index + 1)) {
        if (of !== '' && one !== of && other !== of) continue;
        const known = found.get(`${one} ${other}`);
        if (known) known.pools.push(pool);
        else if (of === '' && found.size >= most) return null;
        else found.set(`${one} ${other}`, { one, other, pools: [pool] });
      }
    }
  }
  return [...found.values()].sort((a, b) => a.one.localeCompare(b.one) || a.other.localeCompare(b.other));
}

/** Return a pair with what is known of its way. */
export function link(pair: Pair, medians: Medians, tunnels: ReadonlyMap<string, Tunnel>): Link {
  const { one, other } = pair;
  const measured = [medians[one]?.[other], medians[other]?.[one]].filter((ms) => ms !== undefined);
  const times = measured.filter((ms) => ms !== null);
  const rtt = times.length > 0 ? Math.max(...times) : null;
  const states = [tunnels.get(`${one} ${other}`), tunnels.get(`${other} ${one}`)].flatMap((found) =>
    found ? [found.state] : [],
  );
  const worst = (['down', 'connecting', 'up'] as const).find((state) => states.includes(state));
  const echoes: Way = measured.length === 0 ? 'unknown' : rtt === null ? 'down' : 'up';
  return { ...pair, rtt, way: worst ?? echoes };
}

/** Return tunnels by the cloudlet that reports each and its peer. */
export function byEnds(tunnels: readonly Tunnel[]): Map<string, Tunnel> {
  return new Map(tunnels.map((tunnel) => [`${tunnel.cloudlet} ${tunnel.peer}`, tunnel]));
}

/** Return measurements as medians; stale ones are left out. */
export function asMedians(measurements: readonly Schemas['Neighbour'][]): Medians {
  const found: Record<string, Record<string, number | null>> = Object.create(null) as Record<
    string,
    Record<string, number | null>
  >;
  for (const one of measurements) if (!one.stale) (found[one.cloudlet] ??= {})[one.neighbour] = one.median_ms;
  return found;
}
