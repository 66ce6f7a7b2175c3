export const en = {
  title: 'LANs and consent',
  lead: (tenant: string) =>
    `Endpoints of ${tenant}. One that waits for your consent is in no pool, and no VM moves there.`,
  none: 'No endpoint belongs to you.',
  columns: {
    name: 'Endpoint',
    cloudlet: 'Cloudlet',
    prefix: 'Prefix',
    pools: 'Pools',
    consent: 'Consent',
    by: 'By',
    act: 'Action',
  },
  states: { unasked: 'not asked for', given: 'given', waiting: 'waits for you', withdrawn: 'withdrawn' },
  give: 'Give consent',
  withdraw: 'Withdraw …',
  sure: (name: string) => `Withdraw the consent to ${name}?`,
  sureText: 'The endpoint leaves all pools at once, and its machines cannot be reached from other cloudlets any more.',
  really: 'Withdraw',
};

export type Texts = typeof en;
