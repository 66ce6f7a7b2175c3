export const en = {
  title: 'Overview',
  verdict: {
    title: 'Doctor',
    checking: 'Comparing the intent with route servers and kernels …',
    well: 'Everything is as it should be.',
    unwell: (count: string) => `${count} differences from the intent`,
    one: 'One difference from the intent',
    compared: (routes: string, cloudlets: string, ago: string) => `${routes} routes and ${cloudlets} cloudlets, ${ago}`,
    again: 'Compare again',
    expected: 'expected',
    found: 'found',
    remedy: 'Remedy',
    more: (count: string) => `Show ${count} more`,
    first: (count: string) => `These are the first ${count}.`,
    unconsented: (count: string) => `${count} endpoints wait for the consent of their tenants.`,
  },
  servers: {
    title: 'Route servers',
    none: 'No route server is configured (WEFT_ROUTE_SERVERS).',
    inStep: 'in step',
    away: 'not in step',
  },
  agents: { title: 'Agents', connected: 'connected', missing: (count: string) => `${count} missing`, all: 'all there' },
  drift: {
    title: 'Policy',
    none: 'as it says',
    steps: (count: string, n: number) => (n === 1 ? 'one step away' : `${count} steps away`),
    failing: (count: string, n: number) => (n === 1 ? 'one test fails' : `${count} tests fail`),
    unknown: 'not known here yet',
  },
  size: {
    title: 'Region',
    cloudlets: (n: number): string => (n === 1 ? 'cloudlet' : 'cloudlets'),
    endpoints: (n: number): string => (n === 1 ? 'endpoint' : 'endpoints'),
    pools: (n: number): string => (n === 1 ? 'pool' : 'pools'),
  },
  alarms: {
    title: 'Alarms',
    none: 'No alarm is on.',
    tunnels: (count: string, n: number) => (n === 1 ? 'One tunnel is missing' : `${count} tunnels are missing`),
    filling: (count: string, n: number) => (n === 1 ? 'One LAN fills up' : `${count} LANs fill up`),
    unconsented: (count: string, n: number) =>
      n === 1 ? 'One endpoint waits for consent' : `${count} endpoints wait for consent`,
    unapproved: (count: string, n: number) =>
      n === 1 ? 'One cloudlet waits for approval' : `${count} cloudlets wait for approval`,
    events_lost: (count: string, n: number) =>
      n === 1 ? 'One event was lost: too many at once' : `${count} events were lost: too many at once`,
  },
  events: { title: 'Latest events', none: 'Nothing has happened yet.', time: 'Time', type: 'Type', text: 'Event' },
};

export type Texts = typeof en;
