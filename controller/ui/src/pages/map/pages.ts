import type { PageDefinition } from '../definition';

export const map: PageDefinition[] = [
  {
    path: '/map',
    least: 'viewer',
    load: () => import('./Map.svelte'),
    menu: { group: 'region', title: { en: 'Map', de: 'Karte' }, key: 'k' },
  },
];
