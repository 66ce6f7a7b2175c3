/** Data that a page shows, loaded again when the region's events say that it may have changed. */

import { untrack } from 'svelte';
import { UNATTENDED, type Asking } from '../api/client';
import { asFailure, type Failure } from '../api/failure';
import { live } from './live.svelte';
import { restAfter } from './pace';
import type { RegionEvent } from './stream';

/** Milliseconds in which further events join a reload: a policy may change a hundred members at once. */
const JOIN = 300;

/** Milliseconds for which a reload waits for the load before it, whose answer it would discard. */
const PATIENCE = 10_000;

/** Return whether an event is of one of these types; a type may end in `*`. */
export function concerns(type: string, follows: readonly string[]): boolean {
  return follows.some((one) => (one.endsWith('*') ? type.startsWith(one.slice(0, -1)) : type === one));
}

interface When {
  /** How many milliseconds to wait at least. */
  rest?: () => number;
  /** Whether an event of one of the types is meant. */
  wanted?: ((event: RegionEvent) => boolean) | undefined;
}

/** Have a function called after events of these types, after the controller was away, and every `seconds` in which the
    page can be seen, if that is given. Returns how to stop. */
export function onEvents(
  follows: readonly string[],
  seconds: number,
  again: () => void,
  { rest = () => 0, wanted = () => true }: When = {},
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const act = () => {
    const wait = rest();
    timer = wait > 0 ? setTimeout(act, wait) : undefined;
    if (wait <= 0) again();
  };
  const off = live.listen((event) => {
    const due = event === null ? follows.length > 0 : concerns(event.type, follows) && wanted(event);
    if (due) timer ??= setTimeout(act, event === null ? 0 : JOIN);
  });
  const clock = seconds ? setInterval(() => document.hidden || rest() > 0 || again(), seconds * 1000) : undefined;
  return () => {
    off();
    clearTimeout(timer);
    clearInterval(clock);
  };
}

export class Resource<T> {
  value = $state.raw<T | undefined>();
  failure = $state.raw<Failure | undefined>();
  loading = $state(true);
  /** When the value was loaded. */
  at = $state(0);
  #load: (asking: Asking) => Promise<T>;
  #turn = 0;
  #began = 0;
  /** The end of the rest after a load that took long. */
  #rested = 0;

  constructor(load: (asking: Asking) => Promise<T>) {
    this.#load = load;
  }

  /** How many milliseconds to wait before the value is loaded again by itself. */
  get rest(): number {
    const now = Date.now();
    return this.loading && now - this.#began < PATIENCE ? JOIN : this.#rested - now;
  }

  /** Load the value. A value that is there stays until the new one comes, and if that fails. */
  async reload(asking: Asking = {}): Promise<void> {
    const turn = ++this.#turn;
    this.loading = true;
    const began = (this.#began = Date.now());
    try {
      const value = await this.#load(asking);
      this.#rested = Date.now() + restAfter(Date.now() - began);
      if (turn !== this.#turn) return;
      this.value = value;
      this.failure = undefined;
      this.at = Date.now();
    } catch (error) {
      if (turn !== this.#turn || asking.signal?.aborted) return;
      this.failure = asFailure(error);
    }
    this.loading = false;
  }
}

/** Return data for a component: loaded when it is shown, when what `load` reads changes, when an event of one of these
    types comes (of them, one that is `wanted`), after the controller was away, and every `seconds` if that is given. */
export function resource<T>(
  load: (asking: Asking) => Promise<T>,
  follows: readonly string[] = [],
  seconds = 0,
  wanted?: (event: RegionEvent) => boolean,
): Resource<T> {
  const found = new Resource(load);
  $effect(() => {
    const stop = new AbortController();
    const asking = { signal: stop.signal };
    const again = () => void found.reload({ ...asking, headers: UNATTENDED });
    const off = onEvents(follows, seconds, again, { rest: () => found.rest, wanted });
    void found.reload(asking);
    return () => {
      stop.abort();
      off();
    };
  });
  return found;
}

/** Return the present time, which moves on every second while a component shows it. */
export function ticking(): { readonly now: number } {
  let now = $state(Date.now());
  $effect(() => {
    const timer = setInterval(() => untrack(() => (now = Date.now())), 1000);
    return () => clearInterval(timer);
  });
  return {
    get now() {
      return now;
    },
  };
}
