/** The list of cloudlets: search and states. Pure. */

import type { Schemas } from '../../api/client';
import type { Tone } from '../../components/Badge.svelte';

export type Cloudlet = Schemas['Cloudlet'];
export type CloudletState = Cloudlet['state'];

export const STATES: readonly CloudletState[] = ['active', 'pending', 'invited', 'draining'];

export const TONES: Record<CloudletState, Tone> = {
  active: 'good',
  pending: 'warn',
  invited: 'quiet',
  draining: 'thread',
};

/** What is to be said of a cloudlet's agent. */
export type AgentWord = 'connected' | 'away' | 'never' | 'unmanaged';

/** Return the word for a cloudlet's agent, and its tone: an active cloudlet is to have one. */
export function agentWord(one: Cloudlet): [AgentWord, Tone] {
  if (one.unmanaged) return ['unmanaged', 'quiet'];
  if (one.agent.connected) return ['connected', 'good'];
  const expected = one.state === 'active' || one.state === 'draining';
  return [one.agent.last_seen ? 'away' : 'never', expected ? 'bad' : 'quiet'];
}

/** Return a cloudlet's labels in one line. */
export function labels(one: Cloudlet): string {
  return Object.entries(one.labels)
    .map(([name, value]) => (value ? `${name}=${value}` : name))
    .join(', ');
}

/** Return the text in which a search looks for a cloudlet. */
export function haystack(one: Cloudlet): string {
  return [one.name, one.vtep, one.pe, labels(one), ...one.endpoints].join(' ').toLowerCase();
}

/** Return the cloudlets that have all words of the search, and this state if one is wanted. `texts` has the haystack of
    each, in the same order. */
export function search(
  all: readonly Cloudlet[],
  texts: readonly string[],
  words: string,
  state: CloudletState | '',
): Cloudlet[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return all.filter(
    (one, index) =>
      (state === '' || one.state === state) && wanted.every((word) => (texts[index] ?? '').includes(word)),
  );
}

/** Return a state that an address names, or '' for any other word. */
export function stateOf(word: string | null): CloudletState | '' {
  return STATES.find((state) => state === word) ?? '';
}
