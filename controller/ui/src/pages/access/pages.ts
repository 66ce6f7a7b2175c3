import type { PageDefinition } from '../definition';

export const access: PageDefinition[] = [
  {
    path: '/access',
    least: 'viewer',
    load: () => import('./Access.svelte'),
    menu: { group: 'region', title: { en: 'Access', de: 'Zugang' }, key: 's' },
  },
];
