/** What the overview makes of the summary and of the doctor's findings. Pure. */

import type { Schemas } from '../../api/client';

export type Difference = Schemas['Difference'];
export type Alarms = Schemas['AlarmsSummary'];
export type AlarmName = keyof Alarms;

const ORDER: readonly AlarmName[] = ['tunnels', 'filling', 'unapproved', 'unconsented', 'events_lost'];

/** Return the alarms that are on, the gravest first, with their numbers. */
export function alarmsOn(alarms: Alarms): [AlarmName, number][] {
  return ORDER.map((name): [AlarmName, number] => [name, alarms[name]]).filter(([, number]) => number > 0);
}

export interface Finding {
  kind: string;
  remedy: string;
  differences: Difference[];
  /** The number of all differences of the kind, also of those that the answer leaves out. */
  count: number;
}

/** Return the differences by kind and remedy, the most frequent first: one remedy often removes many. */
export function findings(differences: readonly Difference[], counts: Readonly<Record<string, number>>): Finding[] {
  const groups = new Map<string, Finding>();
  for (const one of differences) {
    const key = `${one.kind}\n${one.remedy}`;
    const group = groups.get(key) ?? {
      kind: one.kind,
      remedy: one.remedy,
      differences: [],
      count: counts[one.kind] ?? 0,
    };
    group.differences.push(one);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}
