/** The REST API's lists, whole. */

import type { paths } from '$openapi';
import { api, data, type Asking } from './client';

const PAGE = 1000;

type Got<P extends keyof paths> = paths[P] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body } } } };
}
  ? Body
  : never;
type Item<P extends keyof paths> = Got<P> extends { items: (infer One)[]; next?: string | null } ? One : never;
type Parameters<P extends keyof paths> = paths[P] extends {
  get: { parameters: { query?: infer Query; path?: infer Path } };
}
  ? { query?: Omit<NonNullable<Query>, 'limit' | 'cursor'>; path?: Path }
  : never;

/** A path whose answer is a list, page by page. */
export type ListPath = { [P in keyof paths]: [Item<P>] extends [never] ? never : P }[keyof paths];

type Get = (path: string, options: object) => Promise<{ data?: Page; error?: unknown; response: Response }>;
interface Page {
  items: unknown[];
  next?: string | null;
}

/** Return all items of a list. Throws Failure. */
export async function allOf<P extends ListPath>(
  path: P,
  asking: Asking,
  parameters: Parameters<P> = {} as Parameters<P>,
): Promise<Item<P>[]> {
  const get = api.GET as unknown as Get; // its own types cannot tell what a path has that is one of many
  const found: unknown[] = [];
  let cursor: string | undefined;
  do {
    const query = { ...parameters.query, limit: PAGE, ...(cursor ? { cursor } : {}) };
    const { items, next } = await data(get(path, { ...asking, params: { ...parameters, query } }));
    found.push(...items);
    cursor = next ?? undefined;
  } while (cursor !== undefined);
  return found as Item<P>[];
}
