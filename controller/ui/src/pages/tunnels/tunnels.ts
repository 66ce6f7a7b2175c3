/** Encrypted tunnels: states, what becomes of the traffic, and what an address asks for. Pure. */

import type { Schemas } from '../../api/client';
import type { Tone } from '../../components/Badge.svelte';

export type Tunnel = Schemas['Tunnel'];
export type State = Tunnel['state'];

export const STATES: readonly State[] = ['up', 'connecting', 'down'];

/** Return the tone of an end's state: a tunnel that nobody needs may be down. */
export function toneOf(end: Tunnel): Tone {
  if (end.state === 'up') return 'good';
  if (end.alarm !== null) return 'bad';
  if (!end.needed) return 'quiet';
  return end.state === 'connecting' ? 'thread' : 'warn';
}

/** What becomes of the traffic between two cloudlets: `silent`: one end reports no tunnel, so it does not encrypt;
    `blocked`: the guards drop what cannot be encrypted. */
export type Fate = 'encrypted' | 'blocked' | 'silent' | 'idle';

export const FATE_TONES: Record<Fate, Tone> = { encrypted: 'good', blocked: 'bad', silent: 'bad', idle: 'quiet' };

/** Return what becomes of the traffic, by the reports of both ends (null: there is none). */
export function fateOf(one: Tunnel | null, other: Tunnel | null): Fate {
  const ends = [one, other].filter((end) => end !== null);
  if (!ends.some((end) => end.needed)) return 'idle';
  if (ends.length < 2) return 'silent';
  return ends.every((end) => end.state === 'up') ? 'encrypted' : 'blocked';
}

/** Return a text that names an end. */
export function endName(end: Tunnel): string {
  return `${end.cloudlet} ${end.peer}`;
}

export type View = 'tunnels' | 'certificates';

export const VIEWS: readonly View[] = ['tunnels', 'certificates'];

/** What the user looks for among tunnels; '' is no filter. */
export interface TunnelFilters {
  cloudlet: string;
  peer: string;
  state: State | '';
  alarm: 'yes' | 'no' | '';
}

/** Return the view that an address names. */
export function viewOf(query: URLSearchParams): View {
  return VIEWS.find((one) => one === query.get('view')) ?? 'tunnels';
}

/** Return the filters of an address, and the tunnel that is open. */
export function readTunnels(query: URLSearchParams): {
  filters: TunnelFilters;
  open: { from: string; to: string } | null;
} {
  const text = (name: string) => (query.get(name) ?? '').trim().slice(0, 63);
  const [from, to] = [text('from'), text('to')];
  return {
    filters: {
      cloudlet: text('cloudlet'),
      peer: text('peer'),
      state: STATES.find((one) => one === query.get('state')) ?? '',
      alarm: (['yes', 'no'] as const).find((one) => one === query.get('alarm')) ?? '',
    },
    open: from && to ? { from, to } : null,
  };
}

/** Return the filters as the API takes them. */
export function asked({ cloudlet, peer, state, alarm }: TunnelFilters): {
  cloudlet?: string;
  peer?: string;
  state?: State;
  alarm?: boolean;
} {
  return {
    ...(cloudlet ? { cloudlet } : {}),
    ...(peer ? { peer } : {}),
    ...(state ? { state } : {}),
    ...(alarm ? { alarm: alarm === 'yes' } : {}),
  };
}
