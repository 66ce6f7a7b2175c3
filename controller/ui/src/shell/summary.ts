/** The region in numbers, loaded once for the shell and the pages in it. */

import { getContext, setContext } from 'svelte';
import { api, data, type Schemas } from '../api/client';
import { resource, type Resource } from '../live/resource.svelte';

export type Summary = Schemas['Summary'];

const KEY = Symbol('summary');

/** Events after which the summary may say something else. */
const FOLLOWS = [
  'cloudlet-*',
  'endpoint-*',
  'vcp-*',
  'member-*',
  'change-*',
  'policy-*',
  'consent-*',
  'route-server-*',
  'tunnel-*',
  'lan-*',
  'overtaken',
];

/** Load the summary for this component and those in it. Agents come and go without an event. */
export function provideSummary(): Resource<Summary> {
  return setContext(
    KEY,
    resource((asking) => data(api.GET('/api/v1/summary', asking)), FOLLOWS, 10),
  );
}

/** Return the summary that the shell has loaded. */
export function useSummary(): Resource<Summary> {
  return getContext<Resource<Summary>>(KEY);
}
