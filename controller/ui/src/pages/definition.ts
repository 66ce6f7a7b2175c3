/** What a page says of itself. */

import type { Component } from 'svelte';
import type { Role } from '../session/session.svelte';
import type { Language } from '../words/language.svelte';

export type Group = 'region' | 'machines' | 'routing' | 'tenant';

export interface PageDefinition {
  /** Its address; the page gets the parameters (`:name`) as properties. */
  path: string;
  /** The least role that sees it. */
  least: Role;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- its address and its properties are matched by name
  load: () => Promise<{ default: Component<any> }>;
  /** Its place in the navigation, if it has one. */
  menu?: { group: Group; title: Record<Language, string>; /** The key after `g`. */ key: string };
}
