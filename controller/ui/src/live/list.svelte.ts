/** A long list, the latest items first: it grows at its front by the region's events, and at its end as the user
    scrolls. */

import { UNATTENDED, type Asking } from '../api/client';
import { asFailure, type Failure } from '../api/failure';
import { extended, refreshed, type Batch } from './batches';
import { onEvents } from './resource.svelte';

type Load<T> = (asking: Asking, cursor: string | null) => Promise<Batch<T>>;

export class LiveList<T> {
  failure = $state.raw<Failure | undefined>();
  loading = $state(true);
  #batch = $state.raw<Batch<T> | undefined>();
  #load: Load<T>;
  #key: (item: T) => string;
  #turn = 0;

  constructor(load: Load<T>, key: (item: T) => string) {
    this.#load = load;
    this.#key = key;
  }

  /** The items; undefined before the first answer. */
  get value(): readonly T[] | undefined {
    return this.#batch?.items;
  }

  /** Whether there are older items. */
  get more(): boolean {
    return this.#batch !== undefined && this.#batch.next !== null;
  }

  /** Load the list from its front. `keep`: it is the same list, and older items that are there stay. */
  async reload(asking: Asking = {}, keep = false): Promise<void> {
    await this.#take(asking, null, (fresh) => (keep && this.#batch ? refreshed(this.#batch, fresh, this.#key) : fresh));
  }

  /** Load older items, unless something is being loaded. */
  async extend(): Promise<void> {
    const known = this.#batch;
    if (this.loading || !known?.next) return;
    await this.#take({}, known.next, (older) => extended(known, older, this.#key));
  }

  async #take(asking: Asking, cursor: string | null, join: (found: Batch<T>) => Batch<T>): Promise<void> {
    const turn = ++this.#turn;
    this.loading = true;
    try {
      const found = await this.#load(asking, cursor);
      if (turn !== this.#turn) return;
      this.#batch = join(found);
      this.failure = undefined;
    } catch (error) {
      if (turn !== this.#turn || asking.signal?.aborted) return;
      this.failure = asFailure(error);
    }
    this.loading = false;
  }
}

/** Return a list for a component: loaded when it is shown and when what `load` reads changes, and continued by events of
    these types, after the controller was away, and every `seconds` if that is given. */
export function liveList<T>(
  load: Load<T>,
  key: (item: T) => string,
  follows: readonly string[],
  seconds = 0,
): LiveList<T> {
  const found = new LiveList(load, key);
  $effect(() => {
    const stop = new AbortController();
    const asking = { signal: stop.signal };
    const off = onEvents(follows, seconds, () => void found.reload({ ...asking, headers: UNATTENDED }, true));
    void found.reload(asking);
    return () => {
      stop.abort();
      off();
    };
  });
  return found;
}
