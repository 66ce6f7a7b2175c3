/** The looking glass: filters in the address, and the states of routes. Pure. */

import type { Schemas } from '../../api/client';
import type { Tone } from '../../components/Badge.svelte';

export type Route = Schemas['ListedRoute'];
export type Table = Route['table'];
export type Reason = NonNullable<Route['reason']>;
export type Family = Route['family'];

export const TABLES: readonly Table[] = ['adj-in', 'quarantine', 'pools', 'adj-out'];

export const FAMILIES: readonly Family[] = [
  'l2vpn-vpls',
  'l2vpn-evpn',
  'vpnv4',
  'vpnv6',
  'ipv4-flowspec',
  'ipv6-flowspec',
  'ipv4-flowspec-vpn',
  'ipv6-flowspec-vpn',
];

const TEXTS = ['route_server', 'peer', 'endpoint', 'vcp', 'family', 'prefix', 'mac', 'rt', 'reason'] as const;

type TextFilter = (typeof TEXTS)[number];

/** What the user looks for; '' is no filter. */
export type Filters = { table: Table } & Record<TextFilter, string>;

/** Return the filters that an address has. */
export function readFilters(query: URLSearchParams): Filters {
  const table = TABLES.find((one) => one === query.get('table')) ?? 'adj-in';
  const values = Object.fromEntries(TEXTS.map((name) => [name, (query.get(name) ?? '').trim().slice(0, 200)]));
  return { ...(values as Record<TextFilter, string>), table };
}

/** Return the query of a request: what is given, and a reason only where routes have one. */
export function asked(filters: Filters): Record<string, string> {
  const given = TEXTS.filter((name) => filters[name] !== '' && (name !== 'reason' || filters.table === 'quarantine'));
  return { table: filters.table, ...Object.fromEntries(given.map((name) => [name, filters[name]])) };
}

/** Return the query of an address: without what goes without saying. */
export function written(filters: Filters): Record<string, string> {
  const { table, ...rest } = asked(filters);
  return { ...(table !== undefined && table !== 'adj-in' ? { table } : {}), ...rest };
}

/** Return a text that names a line of the table and stays its own while its route changes. */
export function nameOf(route: Route): string {
  return [route.route_server, route.table, route.to ?? '', route.pool ?? '', route.key].join(' ');
}

export type StateName = 'stale' | 'longLived' | 'withheld' | 'held' | 'sent' | 'waiting' | 'accepted';

/** Return the state of a route and its tone; the reason itself for a route in quarantine. */
export function stateOf(route: Route): { name: StateName | null; reason: string; tone: Tone } {
  const state = (name: StateName, tone: Tone) => ({ name, reason: '', tone });
  if (route.reason) return { name: null, reason: route.reason, tone: 'bad' };
  if (route.held) return state('held', 'bad');
  if (route.withheld) return state('withheld', 'bad');
  if (route.long_lived) return state('longLived', 'warn');
  if (route.stale) return state('stale', 'warn');
  if (route.table === 'adj-out') return route.sent_at ? state('sent', 'good') : state('waiting', 'thread');
  return state('accepted', 'good');
}

/** Return an attribute's or part's value as text: texts as they are, lists in one line, all else as JSON. */
export function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join(', ');
  return JSON.stringify(value, null, 1) ?? '';
}
