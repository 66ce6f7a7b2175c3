/** A new cloudlet: what a form says, and how far the cloudlet has come. Pure. */

import type { Schemas } from '../../api/client';
import type { Cloudlet } from './cloudlets';

export type Flavour = Schemas['Flavour'];
export type Dialect = Schemas['PeDialect'];
export type RouteServer = Schemas['RouteServer'];

export const MANAGED: readonly Flavour[] = ['vpls', 'evpn'];
export const FLAVOURS: readonly Flavour[] = ['vpls', 'evpn', 'vpnv4', 'vpnv6'];
export const DIALECTS: Record<Dialect, string> = {
  frr: 'FRRouting',
  gobgp: 'GoBGP',
  bird: 'BIRD',
  exabgp: 'ExaBGP',
  junos: 'Juniper Junos',
  iosxr: 'Cisco IOS XR',
  nxos: 'Cisco NX-OS',
  eos: 'Arista EOS',
  sros: 'Nokia SR OS',
};

export interface CloudletForm {
  name: string;
  unmanaged: boolean;
  pe: Flavour;
  vtep: string;
  asn: string;
  approval: boolean;
  /** Latitude and longitude. */
  place: string;
  /** `name=value`, separated by commas. */
  labels: string;
  /** Its first LAN, if there is to be one. */
  prefix: string;
  /** The LAN's access ports, separated by commas or spaces. */
  ports: string;
}

/** The fields that a page can check by itself; the controller checks all. */
export type Wrong = 'name' | 'vtep' | 'asn' | 'place' | 'labels';

const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Return what is to be sent, or the fields that are wrong. */
export function wanted(form: CloudletForm): Schemas['NewCloudlet'] | Set<Wrong> {
  const wrong = new Set<Wrong>();
  const place = placeOf(form.place);
  const labels = labelsOf(form.labels);
  const asn = form.asn.trim();
  if (!NAME.test(form.name.trim())) wrong.add('name');
  if (!/^\d{1,3}(\.\d{1,3}){3}$/.test(form.vtep.trim())) wrong.add('vtep');
  if (form.unmanaged && asn !== '' && !/^\d{1,10}$/.test(asn)) wrong.add('asn');
  if (place === null) wrong.add('place');
  if (labels === null) wrong.add('labels');
  if (wrong.size > 0 || place === null || labels === null) return wrong;
  return {
    name: form.name.trim(),
    pe: form.pe,
    vtep: form.vtep.trim(),
    unmanaged: form.unmanaged,
    approval: form.approval && !form.unmanaged,
    token_seconds: 3600,
    labels,
    ...place,
    ...(form.unmanaged && asn !== '' ? { asn: Number(asn) } : {}),
  };
}

/** Return the first LAN that a form asks for; null for none. Only an agent knows ports. */
export function lanOf(form: CloudletForm): Schemas['NewEndpoint'] | null {
  const prefix = form.prefix.trim();
  if (prefix === '') return null;
  const cloudlet = form.name.trim();
  const ports = form.unmanaged ? [] : form.ports.split(/[\s,]+/).filter(Boolean);
  return { name: `${cloudlet}-lan`, cloudlet, prefix, ports, mtu: 1450, lease_seconds: 3600 };
}

function placeOf(text: string): { latitude?: number; longitude?: number } | null {
  if (text.trim() === '') return {};
  const found = /^\s*(-?\d+(?:\.\d+)?)\s*[,;\s]\s*(-?\d+(?:\.\d+)?)\s*$/.exec(text);
  const [latitude, longitude] = [Number(found?.[1]), Number(found?.[2])];
  return found && Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? { latitude, longitude } : null;
}

function labelsOf(text: string): Record<string, string> | null {
  const found: Record<string, string> = {};
  for (const part of text.split(',').map((one) => one.trim())) {
    if (part === '') continue;
    const [name = '', ...value] = part.split('=');
    if (!NAME.test(name.trim())) return null;
    found[name.trim()] = value.join('=').trim();
  }
  return found;
}

/** Return the settings of the agent of a cloudlet, as `/etc/weft/agent.toml`. */
export function agentSettings(name: string, controller: string): string {
  return [
    `cloudlet = "${name}"`,
    `controller = ["https://${controller}:8443"]`,
    'token_file = "/etc/weft/agent-token"',
    'state_dir = "/var/lib/weft-agent"',
  ].join('\n');
}

export type SignName = 'enrolled' | 'approved' | 'lan' | 'sessions' | 'kernel';
export type SignState = 'done' | 'waits' | 'ahead';

export interface Sign {
  name: SignName;
  state: SignState;
  done?: number;
  of?: number;
}

/** Return how far a cloudlet has come, step by step: the first that is not done is waited for. `generation` is the
    region's. */
export function signs(one: Cloudlet, servers: readonly RouteServer[], generation: number | null): Sign[] {
  const sessions = servers.flatMap((server) => server.sessions.filter((each) => each.peer === one.name));
  const established = sessions.filter((each) => each.state === 'established').length;
  const all: [SignName, boolean, Partial<Sign>?][] = [
    ...(one.unmanaged ? [] : [['enrolled', one.state !== 'invited'] as [SignName, boolean]]),
    ...(one.approval ? [['approved', one.state === 'active' || one.state === 'draining'] as [SignName, boolean]] : []),
    ['lan', one.endpoints.length > 0],
    ['sessions', servers.length > 0 && established >= servers.length, { done: established, of: servers.length }],
    ...(one.unmanaged
      ? []
      : [
          ['kernel', one.agent.connected && generation !== null && (one.agent.generation ?? -1) >= generation] as [
            SignName,
            boolean,
          ],
        ]),
  ];
  const first = all.findIndex(([, done]) => !done);
  return all.map(([name, done, more], index) => ({
    name,
    state: done ? 'done' : index === first ? 'waits' : 'ahead',
    ...more,
  }));
}
