import { count } from '../../words/format';

export const en = {
  title: 'Map',
  view: 'View',
  views: { places: 'Places', pools: 'Pools' },
  leads: {
    places: 'Cloudlets at their places, and the ways between those that share a pool.',
    pools: 'Each pool, and the LANs that are in it. A LAN in two pools stands between them.',
  },
  pool: 'Pool',
  every: 'All pools',
  legend: 'Ways',
  ways: { up: 'open', connecting: 'connecting', down: 'silent', unknown: 'not measured' },
  tones: {
    good: 'agent connected',
    warn: 'waits for approval',
    bad: 'agent away',
    thread: 'draining',
    quiet: 'no agent expected',
  },
  nearer: 'Zoom in',
  farther: 'Zoom out',
  whole: 'Show all',
  metres: (metres: number) =>
    metres >= 1000 ? `${count(Math.round(metres / 100) / 10, 'en')} km` : `${count(Math.round(metres), 'en')} m`,
  empty: 'There is no cloudlet yet.',
  emptyHint: 'Invite one: weft cloudlet add c1 --vtep 192.0.2.1',
  places: {
    label: 'Map of the cloudlets. Arrow keys go from one to the next.',
    said: (name: string, agent: string, links: number) =>
      `${name}: ${agent}${links > 0 ? `, ${links} ${links === 1 ? 'way' : 'ways'}` : ''}`,
    many: (count: number) => `${count} cloudlets close together: zoom in`,
    none: 'No cloudlet has a place.',
    noneHint: 'weft cloudlet set c1 --at 45.07,7.69',
    adrift: (shown: string, count: number) => (count === 1 ? 'Without a place:' : `${shown} without a place:`),
    tooMany: 'More pairs share a pool than can be drawn: choose a cloudlet, or one pool.',
    coast: 'Coastlines: Natural Earth, 1:110 million. A circle shows how far near is, by the policy’s proximity.',
  },
  topology: {
    label: 'Graph of pools and LANs. Arrow keys go from one to the next.',
    none: 'There is no pool yet.',
    pool: (name: string, shown: string, count: number) => `Pool ${name}: ${shown} ${count === 1 ? 'LAN' : 'LANs'}`,
    endpoint: (name: string, agent: string, pools: string) => `${name}, ${agent}, in ${pools}`,
    group: (shown: string, pools: string) => `${shown} LANs that are in ${pools}`,
    alone: (shown: string, count: number) => `${shown} ${count === 1 ? 'LAN is' : 'LANs are'} in no pool.`,
  },
  chosen: {
    agent: 'Agent',
    vtep: 'VTEP',
    endpoints: 'Endpoints',
    reach: 'Near within',
    whole: 'Its page',
    routes: 'Its routes',
    ways: (shown: string) => `Ways (${shown})`,
    none: 'It shares no pool with another cloudlet.',
    columns: { other: 'To', way: 'Way', rtt: 'Round trip', pools: 'Pools' },
  },
};

export type Texts = typeof en;
