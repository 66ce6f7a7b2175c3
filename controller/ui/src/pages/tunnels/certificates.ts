/** Certificates: how each stands, and what an address asks for. Pure. */

import type { Schemas } from '../../api/client';
import type { Tone } from '../../components/Badge.svelte';

export type Certificate = Schemas['Certificate'];
export type Authority = Schemas['Authority'];
export type Reason = Schemas['RevocationReason'];

export const REASONS: readonly Reason[] = ['keyCompromise', 'superseded', 'cessationOfOperation'];

/** `renewed`: good, and its cloudlet has a later one. `late`: the agent should have renewed it. */
export type Standing = 'good' | 'late' | 'renewed' | 'expired' | 'revoked';

export const STANDING_TONES: Record<Standing, Tone> = {
  good: 'good',
  late: 'warn',
  renewed: 'quiet',
  expired: 'bad',
  revoked: 'bad',
};

/** The part of its life below which an agent reports that it could not renew a certificate (`docs/operate/identity.md`). */
const LATE = 0.25;

/** Return the serial number of each cloudlet's latest certificate. Certificates are in the order of their issue. */
export function latest(certificates: readonly Certificate[]): ReadonlySet<string> {
  return new Set(new Map(certificates.map((one) => [one.cloudlet, one.serial])).values());
}

/** Return how a certificate stands at a moment (milliseconds since 1970), which is later than when it was loaded. */
export function standingOf(one: Certificate, last: boolean, at: number): Standing {
  if (one.standing === 'revoked') return 'revoked';
  const [from, until] = [new Date(one.not_before).getTime(), new Date(one.not_after).getTime()];
  if (one.standing === 'expired' || until <= at) return 'expired';
  if (!last) return 'renewed';
  return (until - at) / (until - from) < LATE ? 'late' : 'good';
}

/** Return the tone of an authority's end: it is renewed in its last month. */
export function authorityTone(ends: string, at: number): Tone {
  const left = new Date(ends).getTime() - at;
  if (left <= 0) return 'bad';
  return left < 30 * 86_400_000 ? 'warn' : 'good';
}

/** Which certificates are shown: the latest of each cloudlet, or those. */
export type Which = '' | 'all' | 'good' | 'revoked' | 'former';

export const WHICH: readonly Which[] = ['', 'all', 'good', 'revoked', 'former'];

export interface Asked {
  cloudlet: string;
  which: Which;
  /** The serial number of the certificate that is open. */
  open: string;
}

/** Return what an address asks for. */
export function readCertificates(query: URLSearchParams): Asked {
  return {
    cloudlet: (query.get('cloudlet') ?? '').trim().slice(0, 63),
    which: WHICH.find((one) => one === query.get('which')) ?? '',
    open: (query.get('certificate') ?? '').trim().slice(0, 80),
  };
}

/** Return the certificates to show, by cloudlet, the latest first. `former` ones were asked for as such. */
export function shown(certificates: readonly Certificate[], which: Which, at: number): Certificate[] {
  const last = latest(certificates);
  const wanted: Record<Which, (one: Certificate) => boolean> = {
    '': (one) => last.has(one.serial),
    all: () => true,
    good: (one) => !['expired', 'revoked'].includes(standingOf(one, last.has(one.serial), at)),
    revoked: (one) => one.standing === 'revoked',
    former: () => true,
  };
  const order = new Map(certificates.map((one, index) => [one.serial, index]));
  const later = (one: Certificate, other: Certificate) => (order.get(other.serial) ?? 0) - (order.get(one.serial) ?? 0);
  const byName = (one: Certificate, other: Certificate) =>
    one.cloudlet < other.cloudlet ? -1 : one.cloudlet > other.cloudlet ? 1 : later(one, other);
  return certificates.filter(wanted[which]).sort(byName);
}

/** Return the beginning of a serial number or digest. */
export function begin(digits: string): string {
  return digits.length > 12 ? `${digits.slice(0, 12)}…` : digits;
}
