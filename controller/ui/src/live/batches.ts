/** Pages of a list that has its latest items first, put together. Pure. */

/** Some items in their order; `next` asks for older ones, null if there are none. */
export interface Batch<T> {
  items: readonly T[];
  next: string | null;
}

/** Return a list whose latest items were loaded again. Known older ones stay, if the two meet: after a gap there may be
    items that nobody has loaded. */
export function refreshed<T>(known: Batch<T>, fresh: Batch<T>, key: (item: T) => string): Batch<T> {
  const names = new Set(fresh.items.map(key));
  const met = known.items.findLastIndex((one) => names.has(key(one)));
  const older = fresh.next === null || met < 0 ? [] : known.items.slice(met + 1);
  return older.length === 0 ? fresh : { items: [...fresh.items, ...older], next: known.next };
}

/** Return a list with older items at its end, each once. Items that are all known are the end of the list. */
export function extended<T>(known: Batch<T>, older: Batch<T>, key: (item: T) => string): Batch<T> {
  const names = new Set(known.items.map(key));
  const added = older.items.filter((one) => !names.has(key(one)));
  return { items: [...known.items, ...added], next: added.length === 0 ? null : older.next };
}

/** Return the first `depth` pages of a list as one; `next` asks for those after them. */
export async function firstPages<T>(
  depth: number,
  page: (cursor: string | null) => Promise<Batch<T>>,
): Promise<Batch<T>> {
  let found = await page(null);
  for (let turn = 1; turn < depth && found.next !== null; turn += 1) {
    const more = await page(found.next);
    found = { items: [...found.items, ...more.items], next: more.next };
  }
  return found;
}
