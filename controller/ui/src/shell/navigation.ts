/** The navigation: which pages a role sees, in groups. Pure. */

import type { Group, PageDefinition } from '../pages/definition';
import { may } from '../session/roles';
import type { Role } from '../session/session.svelte';

export type MenuEntry = PageDefinition & { menu: NonNullable<PageDefinition['menu']> };

/** Return the groups with the pages that a role sees; no group is empty. */
export function navigation(pages: readonly PageDefinition[], role: Role): [Group, MenuEntry[]][] {
  const groups = new Map<Group, MenuEntry[]>();
  for (const page of pages) {
    if (!page.menu || !may(role, page.least)) continue;
    const group = groups.get(page.menu.group) ?? [];
    group.push({ ...page, menu: page.menu });
    groups.set(page.menu.group, group);
  }
  return [...groups];
}

/** Return whether a page of the navigation is the present one, or the list that the present one belongs to. */
export function isCurrent(path: string, present: string, all: readonly MenuEntry[]): boolean {
  const under = (entry: string) => present === entry || (entry !== '/' && present.startsWith(`${entry}/`));
  const best = all.filter((entry) => under(entry.path)).sort((a, b) => b.path.length - a.path.length)[0];
  return best?.path === path;
}
