import type { PageDefinition } from '../definition';

export const neighbours: PageDefinition[] = [
  {
    path: '/neighbours',
    least: 'viewer',
    load: () => import('./Neighbours.svelte'),
    menu: { group: 'routing', title: { en: 'Neighbours', de: 'Nachbarn' }, key: 'r' },
  },
];
