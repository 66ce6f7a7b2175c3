import type { PageDefinition } from '../definition';

export const moves: PageDefinition[] = [
  {
    path: '/moves',
    least: 'viewer',
    load: () => import('./Moves.svelte'),
    menu: { group: 'machines', title: { en: 'Moves', de: 'Umzüge' }, key: 'm' },
  },
  { path: '/moves/:name', least: 'viewer', load: () => import('./Move.svelte') },
];
