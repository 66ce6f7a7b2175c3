/** A document of the API that changes all the time, by a stream of its own. */

import { resource, type Resource } from './resource.svelte';
import { follow, pause } from './stream';
import type { Asking } from '../api/client';

interface Streamed<T> {
  /** Its address. */
  path: string;
  /** A key that it has. */
  key: string & keyof T;
  load: (asking: Asking) => Promise<T>;
  /** Whether it changes no more. */
  over: (value: T) => boolean;
}

/** Return a document for a component: loaded, then followed until it is over. While the page cannot be seen there is no
    connection: a browser opens only six to one place. */
export function streamed<T extends object>({ path, key, load, over }: Streamed<T>): Resource<T> {
  const found = resource(load);
  let seen = $state(!document.hidden);
  const wanted = $derived(seen && found.value !== undefined && !over(found.value));

  $effect(() => {
    const look = () => (seen = !document.hidden);
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  });

  $effect(() => {
    if (!wanted) return;
    const stop = new AbortController();
    void keep(stop.signal);
    return () => stop.abort();
  });

  async function keep(signal: AbortSignal): Promise<void> {
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const end = await follow<T>({
        path,
        key,
        after: null,
        signal,
        opened: () => (attempt = 0),
        heard: (value) => {
          if (signal.aborted) return;
          found.value = value;
          found.failure = undefined;
        },
      });
      if (end !== 'away') return; // the session is over, and the frame says so
      await new Promise((resolve) => setTimeout(resolve, pause(attempt, Math.random())));
    }
  }

  return found;
}
