import type { PageDefinition } from '../definition';

export const policy: PageDefinition[] = [
  {
    path: '/policy',
    least: 'viewer',
    load: () => import('./Policy.svelte'),
    menu: { group: 'region', title: { en: 'Policy', de: 'Richtlinie' }, key: 'y' },
  },
];
