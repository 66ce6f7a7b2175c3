/** The pools and what is in them, as a graph. Pure. */

import type { Tone } from '../../components/Badge.svelte';
import type { Endpoint, Vcp } from './region';

export interface Node {
  id: string;
  kind: 'pool' | 'endpoint' | 'group';
  /** A pool's or endpoint's name; nothing for a group. */
  name: string;
  /** The pools of an endpoint or group; nothing for a pool. */
  pools: readonly string[];
  /** The endpoints of a pool or group; one for an endpoint. */
  count: number;
  cloudlet: string;
  tone: Tone;
}

export interface Edge {
  source: string;
  target: string;
}

export interface Topology {
  nodes: readonly Node[];
  edges: readonly Edge[];
  /** How many endpoints are in no pool. */
  alone: number;
}

/** Endpoints above this number are drawn as groups: all that are in the same pools are one. */
export const MOST_NODES = 500;

/** Return the graph of pools: of all, or of one and all that its members are in. `tones` are those of cloudlets. */
export function topology(
  endpoints: readonly Endpoint[],
  pools: readonly Vcp[],
  tones: ReadonlyMap<string, Tone>,
  pool: string,
  most = MOST_NODES,
): Topology {
  const shown = endpoints.filter((one) => one.vcps.length > 0 && (pool === '' || one.vcps.includes(pool)));
  const names = new Set(pool === '' ? pools.map((one) => one.name) : [pool, ...shown.flatMap((one) => one.vcps)]);
  const counts = new Map<string, number>();
  for (const name of shown.flatMap((one) => one.vcps)) counts.set(name, (counts.get(name) ?? 0) + 1);
  const found: Node[] = pools
    .filter((one) => names.has(one.name))
    .map(({ name }) => ({
      id: `pool ${name}`,
      kind: 'pool',
      name,
      pools: [],
      count: counts.get(name) ?? 0,
      cloudlet: '',
      tone: 'thread',
    }));
  const drawn = new Set(found.map((one) => one.name));
  const rest = shown.length <= most ? singles(shown, tones) : groups(shown, tones);
  const edges = rest.flatMap((node) =>
    node.pools.filter((name) => drawn.has(name)).map((name) => ({ source: node.id, target: `pool ${name}` })),
  );
  const alone = pool === '' ? endpoints.filter((one) => one.vcps.length === 0).length : 0;
  return { nodes: [...found, ...rest], edges, alone };
}

function singles(endpoints: readonly Endpoint[], tones: ReadonlyMap<string, Tone>): Node[] {
  return endpoints.map(({ name, cloudlet, vcps }) => ({
    id: `endpoint ${name}`,
    kind: 'endpoint',
    name,
    pools: [...vcps].sort(),
    count: 1,
    cloudlet,
    tone: tones.get(cloudlet) ?? 'quiet',
  }));
}

function groups(endpoints: readonly Endpoint[], tones: ReadonlyMap<string, Tone>): Node[] {
  const found = new Map<string, Node>();
  for (const { cloudlet, vcps } of endpoints) {
    const pools = [...vcps].sort();
    const id = `group ${pools.join(' ')}`;
    const known = found.get(id);
    const bad = tones.get(cloudlet) === 'bad';
    if (known) found.set(id, { ...known, count: known.count + 1, tone: bad ? 'bad' : known.tone });
    else found.set(id, { id, kind: 'group', name: '', pools, count: 1, cloudlet: '', tone: bad ? 'bad' : 'good' });
  }
  return [...found.values()];
}

/** Return the pixels from a node's middle to its edge, which grow with the square root of its endpoints. */
export function radius(node: Node): number {
  if (node.kind === 'endpoint') return 7;
  return Math.min(34, 12 + 1.6 * Math.sqrt(node.count));
}

/** Where nodes are, by their ids. */
export type Positions = ReadonlyMap<string, { x: number; y: number }>;

export const NOWHERE: Positions = new Map();

/** Return where the bodies of a simulation are. */
export function positions(bodies: readonly { id: string; x?: number; y?: number }[]): Positions {
  return new Map(bodies.map((body) => [body.id, { x: body.x ?? 0, y: body.y ?? 0 }]));
}

/** Return the smallest box around points, with a margin; nothing for no points. */
export function box(points: Iterable<{ x: number; y: number }>, margin = 60): [number, number, number, number] | null {
  const all = [...points];
  if (all.length === 0) return null;
  const [xs, ys] = [all.map((one) => one.x), all.map((one) => one.y)];
  return [Math.min(...xs) - margin, Math.min(...ys) - margin, Math.max(...xs) + margin, Math.max(...ys) + margin];
}
