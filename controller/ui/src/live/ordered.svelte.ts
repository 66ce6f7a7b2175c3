/** A long list in an order of its own: it grows at its end as the user scrolls, and all that is shown is loaded again
    when it may have changed. */

import type { Asking } from '../api/client';
import type { Failure } from '../api/failure';
import { firstPages, type Batch } from './batches';
import { resource } from './resource.svelte';

export interface OrderedList<T> {
  readonly value: readonly T[] | undefined;
  readonly failure: Failure | undefined;
  readonly loading: boolean;
  /** Whether there are items after these. */
  readonly more: boolean;
  reload: () => Promise<void>;
  /** Load the items after these, unless something is being loaded. */
  extend: () => void;
}

/** Return a list for a component; `page`, `follows` and `seconds` are as those of a resource. */
export function orderedList<T>(
  page: (asking: Asking, cursor: string | null) => Promise<Batch<T>>,
  follows: readonly string[],
  seconds = 0,
): OrderedList<T> {
  let depth = $state(1);
  const found = resource((asking) => firstPages(depth, (cursor) => page(asking, cursor)), follows, seconds);
  return {
    get value() {
      return found.value?.items;
    },
    get failure() {
      return found.failure;
    },
    get loading() {
      return found.loading;
    },
    get more() {
      return typeof found.value?.next === 'string';
    },
    reload: () => found.reload(),
    extend: () => {
      if (!found.loading && typeof found.value?.next === 'string') depth += 1;
    },
  };
}
