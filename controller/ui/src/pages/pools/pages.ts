import type { PageDefinition } from '../definition';

export const pools: PageDefinition[] = [
  {
    path: '/pools',
    least: 'viewer',
    load: () => import('./Pools.svelte'),
    menu: { group: 'region', title: { en: 'Pools', de: 'Pools' }, key: 'p' },
  },
  { path: '/pools/:name', least: 'viewer', load: () => import('./Pool.svelte') },
];
