import type { PageDefinition } from '../definition';

export const lookingGlass: PageDefinition[] = [
  {
    path: '/routes',
    least: 'viewer',
    load: () => import('./LookingGlass.svelte'),
    menu: { group: 'routing', title: { en: 'Looking glass', de: 'Looking Glass' }, key: 'l' },
  },
  {
    path: '/routes/explain',
    least: 'viewer',
    load: () => import('./Explain.svelte'),
    menu: { group: 'routing', title: { en: 'Explain a route', de: 'Route erklären' }, key: 'e' },
  },
];
