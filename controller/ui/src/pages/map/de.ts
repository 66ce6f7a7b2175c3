import { count } from '../../words/format';
import type { Texts } from './en';

export const de: Texts = {
  title: 'Karte',
  view: 'Ansicht',
  views: { places: 'Orte', pools: 'Pools' },
  leads: {
    places: 'Cloudlets an ihren Orten und die Wege zwischen denen, die einen Pool teilen.',
    pools: 'Jeder Pool und die LANs darin. Ein LAN in zwei Pools steht zwischen beiden.',
  },
  pool: 'Pool',
  every: 'Alle Pools',
  legend: 'Wege',
  ways: { up: 'offen', connecting: 'im Aufbau', down: 'stumm', unknown: 'nicht gemessen' },
  tones: {
    good: 'Agent verbunden',
    warn: 'wartet auf Freigabe',
    bad: 'Agent fehlt',
    thread: 'wird geleert',
    quiet: 'kein Agent erwartet',
  },
  nearer: 'Vergrößern',
  farther: 'Verkleinern',
  whole: 'Alles zeigen',
  metres: (metres: number) =>
    metres >= 1000 ? `${count(Math.round(metres / 100) / 10, 'de')} km` : `${count(Math.round(metres), 'de')} m`,
  empty: 'Es gibt noch kein Cloudlet.',
  emptyHint: 'Laden Sie eines ein: weft cloudlet add c1 --vtep 192.0.2.1',
  places: {
    label: 'Karte der Cloudlets. Die Pfeiltasten führen von einem zum nächsten.',
    said: (name: string, agent: string, links: number) =>
      `${name}: ${agent}${links > 0 ? `, ${links} ${links === 1 ? 'Weg' : 'Wege'}` : ''}`,
    many: (count: number) => `${count} Cloudlets dicht beieinander: vergrößern`,
    none: 'Kein Cloudlet hat einen Ort.',
    noneHint: 'weft cloudlet set c1 --at 45.07,7.69',
    adrift: (shown: string, count: number) => (count === 1 ? 'Ohne Ort:' : `${shown} ohne Ort:`),
    tooMany: 'Mehr Paare teilen einen Pool, als gezeichnet werden können: Wählen Sie ein Cloudlet oder einen Pool.',
    coast: 'Küsten: Natural Earth, 1:110 Millionen. Ein Kreis zeigt, was nach der Richtlinie als nah gilt.',
  },
  topology: {
    label: 'Graph der Pools und LANs. Die Pfeiltasten führen von einem zum nächsten.',
    none: 'Es gibt noch keinen Pool.',
    pool: (name: string, shown: string, count: number) => `Pool ${name}: ${shown} ${count === 1 ? 'LAN' : 'LANs'}`,
    endpoint: (name: string, agent: string, pools: string) => `${name}, ${agent}, in ${pools}`,
    group: (shown: string, pools: string) => `${shown} LANs in ${pools}`,
    alone: (shown: string, count: number) => `${shown} ${count === 1 ? 'LAN ist' : 'LANs sind'} in keinem Pool.`,
  },
  chosen: {
    agent: 'Agent',
    vtep: 'VTEP',
    endpoints: 'Endpunkte',
    reach: 'Nah bis',
    whole: 'Seine Seite',
    routes: 'Seine Routen',
    ways: (shown: string) => `Wege (${shown})`,
    none: 'Es teilt keinen Pool mit einem anderen Cloudlet.',
    columns: { other: 'Zu', way: 'Weg', rtt: 'Umlaufzeit', pools: 'Pools' },
  },
};
