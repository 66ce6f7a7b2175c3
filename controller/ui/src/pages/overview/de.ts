import type { Texts } from './en';

export const de: Texts = {
  title: 'Übersicht',
  verdict: {
    title: 'Doktor',
    checking: 'Die Absicht wird mit Routenservern und Kernen verglichen …',
    well: 'Alles ist, wie es sein soll.',
    unwell: (count: string) => `${count} Abweichungen von der Absicht`,
    one: 'Eine Abweichung von der Absicht',
    compared: (routes: string, cloudlets: string, ago: string) => `${routes} Routen und ${cloudlets} Cloudlets, ${ago}`,
    again: 'Neu vergleichen',
    expected: 'erwartet',
    found: 'gefunden',
    remedy: 'Abhilfe',
    more: (count: string) => `${count} weitere zeigen`,
    first: (count: string) => `Dies sind die ersten ${count}.`,
    unconsented: (count: string) => `${count} Endpunkte warten auf die Zustimmung ihrer Mandanten.`,
  },
  servers: {
    title: 'Routenserver',
    none: 'Es ist kein Routenserver eingestellt (WEFT_ROUTE_SERVERS).',
    inStep: 'auf dem Stand',
    away: 'nicht auf dem Stand',
  },
  agents: { title: 'Agenten', connected: 'verbunden', missing: (count: string) => `${count} fehlen`, all: 'alle da' },
  drift: {
    title: 'Richtlinie',
    none: 'wie sie es will',
    steps: (count: string, n: number) => (n === 1 ? 'einen Schritt entfernt' : `${count} Schritte entfernt`),
    failing: (count: string, n: number) => (n === 1 ? 'ein Test schlägt fehl' : `${count} Tests schlagen fehl`),
    unknown: 'hier noch nicht bekannt',
  },
  size: {
    title: 'Region',
    cloudlets: (n: number): string => (n === 1 ? 'Cloudlet' : 'Cloudlets'),
    endpoints: (n: number): string => (n === 1 ? 'Endpunkt' : 'Endpunkte'),
    pools: (n: number): string => (n === 1 ? 'Pool' : 'Pools'),
  },
  alarms: {
    title: 'Alarme',
    none: 'Kein Alarm.',
    tunnels: (count: string, n: number) => (n === 1 ? 'Ein Tunnel fehlt' : `${count} Tunnel fehlen`),
    filling: (count: string, n: number) => (n === 1 ? 'Ein LAN läuft voll' : `${count} LANs laufen voll`),
    unconsented: (count: string, n: number) =>
      n === 1 ? 'Ein Endpunkt wartet auf Zustimmung' : `${count} Endpunkte warten auf Zustimmung`,
    unapproved: (count: string, n: number) =>
      n === 1 ? 'Ein Cloudlet wartet auf Freigabe' : `${count} Cloudlets warten auf Freigabe`,
    events_lost: (count: string, n: number) =>
      n === 1
        ? 'Ein Ereignis ging verloren: zu viele auf einmal'
        : `${count} Ereignisse gingen verloren: zu viele auf einmal`,
  },
  events: {
    title: 'Letzte Ereignisse',
    none: 'Noch ist nichts geschehen.',
    time: 'Zeit',
    type: 'Art',
    text: 'Ereignis',
  },
};
