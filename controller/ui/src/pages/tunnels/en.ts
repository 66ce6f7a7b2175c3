import type { Reason, Standing } from './certificates';
import type { Fate } from './tunnels';

const fates: Record<Fate, (silent: string) => string> = {
  encrypted: () => 'All traffic between these two cloudlets is encrypted: VXLAN, moves and probes.',
  blocked: () => 'The tunnel is not up at both ends. What cannot be encrypted is dropped; nothing goes in the clear.',
  silent: (name) =>
    `${name} reports no tunnel: it does not encrypt, so the two exchange no VXLAN. Set [ipsec] in its agent’s configuration.`,
  idle: () => 'Nobody needs this tunnel: the two share no pool, and no BGP session goes through it.',
};

const standings: Record<Standing, string> = {
  good: 'good',
  late: 'renewal is late',
  renewed: 'renewed',
  expired: 'expired',
  revoked: 'revoked',
};

const reasons: Record<Reason, string> = {
  keyCompromise: 'Key compromised (keyCompromise)',
  superseded: 'Replaced (superseded)',
  cessationOfOperation: 'Out of service (cessationOfOperation)',
};

export const en = {
  title: 'Tunnels and certificates',
  view: 'View',
  views: { tunnels: 'Tunnels', certificates: 'Certificates' },
  leads: {
    tunnels: 'IPsec between cloudlets, a line for each end’s last report.',
    certificates: 'The certificates that cloudlets prove their names by, and the authority that issues them.',
  },
  none: 'No cloudlet reports a tunnel: this region does not encrypt.',
  noneHint: 'Traffic between cloudlets goes in the clear. [ipsec] in the agents’ configuration encrypts it:',
  nothing: 'No tunnel fits these filters.',
  nothingHint: 'Take a filter away. Cloudlets that do not encrypt report no tunnels.',
  filters: { any: 'Any', alarm: 'Alarm', on: 'on', off: 'none' },
  columns: {
    pair: 'Cloudlet → peer',
    cloudlet: 'Cloudlet',
    peer: 'Peer',
    state: 'State',
    since: 'Since',
    in: 'Received',
    out: 'Sent',
    rekey: 'Next keys',
    dropped: 'Dropped',
    why: 'Why not up',
  },
  states: { up: 'up', connecting: 'connecting', down: 'down' },
  stateOf: (state: string, alarm: boolean, needed: boolean) =>
    alarm ? `${state}, alarm` : needed ? state : `${state}, not needed`,
  alarm: (since: string) => `Missing for too long, since ${since}`,
  fates,
  details: {
    gone: 'Neither end reports this tunnel any more: they share no pool, or do not encrypt.',
    both: 'Both ends',
    reports: 'Reported by',
    silent: 'reports none',
    needed: 'Needed',
    yes: 'yes',
    no: 'no',
    addresses: 'VTEPs',
    esp: 'Traffic (ESP)',
    ike: 'Negotiation (IKE)',
    keyed: 'Last keys',
    traffic: (size: string, packets: string) => `${size} (${packets} packets)`,
    droppedIn: 'Dropped, received in the clear',
    droppedOut: 'Dropped, to be sent in the clear',
    at: 'Reported',
    counted: 'Traffic is counted before encryption, since the agent’s start; drops since the machine’s.',
    neighbours: 'Their round trips',
    certificates: (name: string) => `Certificates of ${name}`,
    events: 'Events of tunnels',
  },
  authority: {
    title: 'Authority',
    ends: 'Ends',
    life: 'Certificates live for',
    renew: 'Renew it with the root key:',
    chain: 'Intermediate and root certificate (PEM)',
    crl: 'Revocation list (PEM)',
    none: 'This controller issues no certificates.',
    noneHint: 'IPsec and TLS for agents need an authority (WEFT_AUTHORITY):',
  },
  standings,
  reasons,
  certificates: {
    one: 'Certificate',
    of: (name: string) => `Certificate of ${name}`,
    allOf: (name: string) => `All certificates of ${name}`,
    which: 'Which',
    kinds: {
      latest: 'The latest of each cloudlet',
      all: 'All',
      good: 'Good',
      revoked: 'Revoked',
      former: 'Good, from a former key',
    },
    none: 'No certificate has been issued.',
    noneHint: 'Agents get one when they enrol. A week after its end a certificate is deleted.',
    nothing: 'No certificate fits.',
    formerHint: 'All good certificates are from the key that issues now: a rotation can be finished.',
    left: 'Ends',
    until: 'Good until',
    from: 'Good from',
    serial: 'Serial number',
    issuer: 'Issuer’s key',
    fingerprint: 'Fingerprint (SHA-256)',
    revokedAt: 'Revoked',
    present: 'present',
    other: 'former',
    unknown: 'unknown',
    late: 'The agent renews at half of the life. See whether it is connected, and its problems in its cloudlet’s events.',
  },
  revoke: {
    begin: 'Revoke …',
    sure: (name: string) => `Revoke the certificate of ${name}?`,
    cut: (name: string) => `${name} is cut off at once, and this cannot be undone.`,
    what: [
      'Its credential and all its certificates end, and the controller cuts its agent’s session within two seconds.',
      'Route servers end its BGP sessions, withdraw its routes and accept no new session; its tunnels go.',
      'Its memberships stay: take it out of its pools if it is not to return.',
    ],
    back: 'To readmit it, remove credential.json from the agent’s state directory and start the agent with a token:',
    reason: 'Reason',
    really: 'Revoke it',
  },
};

export type Texts = typeof en;
