import type { PageDefinition } from '../definition';

export const overview: PageDefinition[] = [
  {
    path: '/',
    least: 'viewer',
    load: () => import('./Overview.svelte'),
    menu: { group: 'region', title: { en: 'Overview', de: 'Übersicht' }, key: 'o' },
  },
];
