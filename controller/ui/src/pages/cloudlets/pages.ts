import type { PageDefinition } from '../definition';

export const cloudlets: PageDefinition[] = [
  {
    path: '/cloudlets',
    least: 'viewer',
    load: () => import('./Cloudlets.svelte'),
    menu: { group: 'region', title: { en: 'Cloudlets', de: 'Cloudlets' }, key: 'c' },
  },
  { path: '/add-cloudlet', least: 'operator', load: () => import('./Add.svelte') },
  { path: '/cloudlets/:name', least: 'viewer', load: () => import('./Cloudlet.svelte') },
];
