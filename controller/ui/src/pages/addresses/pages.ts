import type { PageDefinition } from '../definition';

export const addresses: PageDefinition[] = [
  {
    path: '/addresses',
    least: 'viewer',
    load: () => import('./Addresses.svelte'),
    menu: { group: 'region', title: { en: 'Addresses', de: 'Adressen' }, key: 'd' },
  },
  { path: '/addresses/:endpoint', least: 'viewer', load: () => import('./Lan.svelte') },
];
