import type { PageDefinition } from '../definition';

export const vms: PageDefinition[] = [
  {
    path: '/vms',
    least: 'viewer',
    load: () => import('./Vms.svelte'),
    menu: { group: 'machines', title: { en: 'VMs and containers', de: 'VMs und Container' }, key: 'v' },
  },
  { path: '/vms/:name', least: 'viewer', load: () => import('./Vm.svelte') },
];

/** In a tenant's portal. */
export const ownVms: PageDefinition[] = [
  {
    path: '/own/vms',
    least: 'tenant',
    load: () => import('./OwnVms.svelte'),
    menu: { group: 'tenant', title: { en: 'VMs and containers', de: 'VMs und Container' }, key: 'w' },
  },
];
