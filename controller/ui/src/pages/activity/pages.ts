import type { PageDefinition } from '../definition';

export const activity: PageDefinition[] = [
  {
    path: '/activity',
    least: 'viewer',
    load: () => import('./Activity.svelte'),
    menu: { group: 'region', title: { en: 'Activity', de: 'Verlauf' }, key: 'a' },
  },
];
