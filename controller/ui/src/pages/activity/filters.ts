/** Views of the activity, and their filters in the address. Pure. */

import type { Role } from '../../session/session.svelte';
import { may } from '../../session/roles';

/** `all`: changes, events and the audit log by time. */
export type View = 'all' | 'changes' | 'events' | 'audit';

export const VIEWS: readonly View[] = ['all', 'changes', 'events', 'audit'];

const FILTERS: Record<View, readonly FilterName[]> = {
  all: [],
  changes: [],
  events: ['type', 'about'],
  audit: ['who', 'method', 'under', 'status'],
};

export type FilterName = 'type' | 'about' | 'who' | 'method' | 'under' | 'status';

export const METHODS = ['POST', 'PATCH', 'PUT', 'DELETE', 'change', 'move', 'certificate', 'synthesise'] as const;

/** What the user looks for; '' is no filter. */
export type Filters = Readonly<Record<FilterName, string>>;

/** Return whether a role sees a view (`controller/core/roles.py`). */
export function sees(role: Role | undefined, view: View): boolean {
  return view !== 'audit' || may(role, 'operator');
}

/** Return the view that an address names. */
export function viewOf(query: URLSearchParams): View {
  return VIEWS.find((one) => one === query.get('view')) ?? 'all';
}

/** Return the filters of an address; a view has only its own. */
export function filtersOf(view: View, query: URLSearchParams): Filters {
  const none: Record<FilterName, string> = { type: '', about: '', who: '', method: '', under: '', status: '' };
  for (const name of FILTERS[view]) none[name] = (query.get(name) ?? '').trim().slice(0, 200);
  return none;
}

/** Return the query of an address: without what goes without saying. */
export function written(view: View, filters: Filters, row = ''): Record<string, string> {
  const given = FILTERS[view].filter((name) => filters[name] !== '').map((name) => [name, filters[name]]);
  return { ...(view === 'all' ? {} : { view }), ...Object.fromEntries(given), ...(row ? { row } : {}) };
}

/** Return the types to offer for a search: families of them, and those that were seen. */
export function offered(seen: Iterable<string>): string[] {
  const types = new Set(seen);
  const families = [...types].map((type) => `${type.split('-')[0] ?? type}-*`);
  return [...new Set([...KNOWN, ...families, ...types])].sort();
}

const KNOWN = ['change-*', 'cloudlet-*', 'endpoint-*', 'member-*', 'move-*', 'policy-*', 'session-*', 'vcp-*', 'vm-*'];
