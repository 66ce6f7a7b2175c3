/** How soon data may be loaded again by itself. Pure. */

/** Milliseconds of a load that costs the controller something. */
const SLOW = 1000;

/** Return the milliseconds to wait after a load that took so long: a large region's pages load again less often, so that
    they take a fifth of the controller's time at most. What is quick need not wait. */
export function restAfter(took: number): number {
  return took < SLOW ? 0 : 4 * took;
}
