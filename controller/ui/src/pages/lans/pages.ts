import type { PageDefinition } from '../definition';

export const lans: PageDefinition[] = [
  {
    path: '/lans',
    least: 'tenant',
    load: () => import('./Lans.svelte'),
    menu: { group: 'tenant', title: { en: 'LANs and consent', de: 'LANs und Zustimmung' }, key: 'n' },
  },
];
