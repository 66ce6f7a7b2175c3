/** What each role sees (`controller/core/roles.py`). The controller decides; pages only leave out what it would refuse.
    Pure. */

import type { Role } from './session.svelte';

const ORDER: readonly Role[] = ['viewer', 'network-engineer', 'operator', 'admin'];

/** Return whether a role may do what takes at least `least`. A tenant is not one of these steps. */
export function may(role: Role | undefined, least: Role): boolean {
  if (role === undefined) return false;
  if (role === 'tenant' || least === 'tenant') return role === least;
  return ORDER.indexOf(role) >= ORDER.indexOf(least);
}
