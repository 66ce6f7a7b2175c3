import type { Texts } from './en';

export const de: Texts = {
  title: 'LANs und Zustimmung',
  lead: (tenant: string) =>
    `Endpunkte von ${tenant}. Wartet einer auf Ihre Zustimmung, ist er in keinem Pool, und keine VM zieht dorthin.`,
  none: 'Ihnen gehört kein Endpunkt.',
  columns: {
    name: 'Endpunkt',
    cloudlet: 'Cloudlet',
    prefix: 'Präfix',
    pools: 'Pools',
    consent: 'Zustimmung',
    by: 'Von',
    act: 'Aktion',
  },
  states: { unasked: 'nicht gefragt', given: 'gegeben', waiting: 'wartet auf Sie', withdrawn: 'zurückgezogen' },
  give: 'Zustimmen',
  withdraw: 'Zurückziehen …',
  sure: (name: string) => `Die Zustimmung zu ${name} zurückziehen?`,
  sureText: 'Der Endpunkt verlässt sofort alle Pools; andere Cloudlets erreichen seine Maschinen nicht mehr.',
  really: 'Zurückziehen',
};
