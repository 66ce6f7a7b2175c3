/** Where the things are shown that changes, events and audit entries are about. Pure. */

import { fill } from '../../router/match';
import type { Line } from './lines';

export type ThingKind = 'change' | 'cloudlet' | 'endpoint' | 'move' | 'scheduled' | 'vm' | 'pool' | 'device' | 'policy';

export interface Thing {
  kind: ThingKind;
  name: string;
  href: string;
}

const PATHS: Record<ThingKind, string> = {
  change: '/activity?view=changes&row=change-:name',
  cloudlet: '/cloudlets/:name',
  endpoint: '/cloudlets?q=:name',
  move: '/moves/:name',
  scheduled: '/moves?view=scheduled',
  vm: '/vms/:name',
  pool: '/pools/:name',
  device: '/activity?view=events&about=:name',
  policy: '/policy?view=history',
};

function thing(kind: ThingKind, name: string): Thing {
  return { kind, name, href: fill(PATHS[kind], { name }) };
}

/** What an event's subject is, by its type (`docs/reference/events.md`); the first that fits. */
const SUBJECTS: readonly [RegExp, ThingKind][] = [
  [/^change-/, 'change'],
  [/^move-(decided)$|^vm-|^initiation-/, 'vm'],
  [/^move-(refused|missed|scheduled|unscheduled)$/, 'scheduled'],
  [/^move-/, 'move'],
  [/^vcp-/, 'pool'],
  [
    /^(endpoint|consent)-(created|changed|removed|given|withdrawn)$|^member-|^lan-|^address-freed$|^lease-clash$/,
    'endpoint',
  ],
  [/^policy-|^consent-counted$/, 'policy'],
  [/^(cloudlet|neighbour|image|certificate)-|^session-keys$|^agent-problems$|^rules-gone$|^mac-duplicate$/, 'cloudlet'],
  [/^(device|lease|pair)-|^address-declined$/, 'device'],
];

/** Keys of an event's data that name things. */
const KEYS: readonly [string, ThingKind][] = [
  ['vm', 'vm'],
  ['vcp', 'pool'],
  ['peer', 'cloudlet'],
  ['cloudlet', 'cloudlet'],
  ['move', 'move'],
  ['source', 'cloudlet'],
  ['destination', 'cloudlet'],
  ['generation', 'change'],
];

/** Parts of the API's paths, and what is behind them. */
const PARTS: Record<string, ThingKind> = {
  cloudlets: 'cloudlet',
  endpoints: 'endpoint',
  vcps: 'pool',
  vms: 'vm',
  moves: 'move',
  devices: 'device',
  changes: 'change',
};

/** What a change's cause names, by its words (`controller/api`, `controller/migration`). */
const CAUSES: readonly [RegExp, ThingKind][] = [
  [/^\S+ (?:joined|left) (\S+)$/, 'pool'],
  [/^found (\S+)$/, 'pool'],
  [/^(?:make|change|remove) endpoint (\S+)$/, 'endpoint'],
  [/^consent to (\S+) /, 'endpoint'],
  [/^(?:invite|add|enrol|approve|drain|change) ([^\s/]+)$/, 'cloudlet'],
];

/** Return what a line is about, the nearest first; each thing once. */
export function about(line: Line): Thing[] {
  const found =
    line.kind === 'change'
      ? ofCause(line.item.cause)
      : line.kind === 'event'
        ? ofEvent(line.item)
        : ofPath(line.item.path);
  return found.filter((one, index) => found.findIndex((other) => other.href === one.href) === index);
}

function ofCause(cause: string): Thing[] {
  for (const [words, kind] of CAUSES) {
    const name = words.exec(cause)?.[1];
    if (name) return [thing(kind, name)];
  }
  return cause.includes('policy') ? [thing('policy', '')] : [];
}

function ofEvent(event: { type: string; subject: string; data: Record<string, unknown> }): Thing[] {
  const kind = SUBJECTS.find(([type]) => type.test(event.type))?.[1];
  const others = KEYS.flatMap(([key, of]) => {
    const value = event.data[key];
    return (typeof value === 'string' && value !== '') || typeof value === 'number' ? [thing(of, String(value))] : [];
  });
  return kind ? [thing(kind, event.subject), ...others] : others;
}

function ofPath(path: string): Thing[] {
  const [part = '', name = ''] = path.replace(/^\/api\/v1\//, '').split('/');
  if (!path.startsWith('/api/v1/')) return [];
  if (part === 'policy') return [thing('policy', '')];
  if (part === 'moves' && name === 'scheduled') return [thing('scheduled', '')];
  const kind = PARTS[part];
  return kind && name && !['ahead', 'initiation'].includes(name) ? [thing(kind, decoded(name))] : [];
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
