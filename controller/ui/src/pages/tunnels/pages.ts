import type { PageDefinition } from '../definition';

export const tunnels: PageDefinition[] = [
  {
    path: '/tunnels',
    least: 'viewer',
    load: () => import('./Tunnels.svelte'),
    menu: { group: 'routing', title: { en: 'Tunnels and certificates', de: 'Tunnel und Zertifikate' }, key: 't' },
  },
];
