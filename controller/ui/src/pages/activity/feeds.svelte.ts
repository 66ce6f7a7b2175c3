/** The lists behind the views of the activity, the latest lines first. */

import { api, data, type Asking, type Schemas } from '../../api/client';
import type { Batch } from '../../live/batches';
import { liveList, type LiveList } from '../../live/list.svelte';
import type { Filters, View } from './filters';
import { auditLine, changeLine, eventLine, type Line } from './lines';

const PAGE = 200;

/** Seconds after which lists are loaded again that no event announces: refusals in the audit log, trials that end. */
const OFTEN = 15;

const ANY = ['*'];

/** Return the lines of one kind for a component; they follow the filters. */
export function feed(view: Exclude<View, 'all'>, filters: () => Filters): LiveList<Line> {
  const loads = { changes, events, audit };
  return liveList(
    (asking, cursor) => loads[view](asking, cursor, filters()),
    (line) => line.name,
    ANY,
    view === 'events' ? 0 : OFTEN,
  );
}

async function changes(asking: Asking, cursor: string | null): Promise<Batch<Line>> {
  const query = { limit: PAGE, ...(cursor ? { cursor } : {}) };
  const found = await data(api.GET('/api/v1/changes', { ...asking, params: { query } }));
  return { items: found.items.map(changeLine), next: found.next ?? null };
}

async function events(asking: Asking, cursor: string | null, { type, about }: Filters): Promise<Batch<Line>> {
  const query = {
    latest: true,
    limit: PAGE,
    ...(type ? { type } : {}),
    ...(about ? { about } : {}),
    ...(cursor ? { before: Number(cursor) } : {}),
  };
  // A page, since no stream is asked for.
  const found = (await data(api.GET('/api/v1/events', { ...asking, params: { query } }))) as Schemas['Events'];
  const oldest = found.items[0];
  const next = oldest && found.items.length === PAGE ? String(oldest.id) : null;
  return { items: found.items.toReversed().map(eventLine), next };
}

async function audit(asking: Asking, cursor: string | null, filters: Filters): Promise<Batch<Line>> {
  const { who, method, under, status } = filters;
  const query = {
    limit: PAGE,
    ...(who ? { who } : {}),
    ...(method ? { method } : {}),
    ...(under ? { under } : {}),
    ...(status ? { status: Number(status) } : {}),
    ...(cursor ? { cursor } : {}),
  };
  const found = await data(api.GET('/api/v1/audit', { ...asking, params: { query } }));
  return { items: found.items.map(auditLine), next: found.next ?? null };
}
