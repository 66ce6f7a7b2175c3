/** Tokens, consents, and what roles may do. Pure. */

import type { Schemas } from '../../api/client';
import type { Tone } from '../../components/Badge.svelte';
import { may } from '../../session/roles';
import type { Role } from '../../session/session.svelte';

export type Token = Schemas['Token'];
export type TokenState = Token['state'];
export type Endpoint = Schemas['Endpoint'];
export type ConsentState = Schemas['ConsentState'];

export type AccessView = 'tokens' | 'consents' | 'roles';

export const ACCESS_VIEWS: readonly AccessView[] = ['tokens', 'consents', 'roles'];

/** Return whether a role sees a view (`controller/core/roles.py`). */
export function sees(role: Role | undefined, view: AccessView): boolean {
  return may(role, view === 'tokens' ? 'admin' : 'viewer');
}

/** Return the view that an address names, or the first one that the role sees. */
export function accessView(query: URLSearchParams, role: Role | undefined): AccessView {
  const named = ACCESS_VIEWS.find((one) => one === query.get('view'));
  return named ?? ACCESS_VIEWS.find((one) => sees(role, one)) ?? 'roles';
}

/** All roles, the steps from the least to the greatest, and the tenant's, which is none of them. */
export const ROLES: readonly Role[] = ['viewer', 'network-engineer', 'operator', 'admin', 'tenant'];

export const TOKEN_STATES: readonly TokenState[] = ['good', 'expired', 'revoked'];

export const TOKEN_TONES: Record<TokenState, Tone> = { good: 'good', expired: 'quiet', revoked: 'bad' };

export const CONSENT_STATES: readonly ConsentState[] = ['waiting', 'withdrawn', 'given', 'unasked'];

export const CONSENT_TONES: Record<ConsentState, Tone> = {
  waiting: 'warn',
  withdrawn: 'bad',
  given: 'good',
  unasked: 'quiet',
};

/** Days for which a token may be good. */
export const MOST_DAYS = 366;

/** What a user writes to make a token. */
export interface TokenForm {
  name: string;
  role: Role;
  tenant: string;
  days: string;
}

export interface NewToken {
  name: string;
  role: Role;
  tenant?: string;
  seconds: number;
}

/** Return the token to make, or the fields that are wrong. */
export function wanted(form: TokenForm): NewToken | Set<'name' | 'tenant' | 'days'> {
  const [name, tenant, days] = [form.name.trim(), form.tenant.trim(), Number(form.days)];
  const wrong = new Set<'name' | 'tenant' | 'days'>();
  if (!isName(name)) wrong.add('name');
  if (form.role === 'tenant' && !isName(tenant)) wrong.add('tenant');
  if (!Number.isInteger(days) || days < 1 || days > MOST_DAYS) wrong.add('days');
  if (wrong.size > 0) return wrong;
  return { name, role: form.role, ...(form.role === 'tenant' ? { tenant } : {}), seconds: days * 86_400 };
}

/** Return whether a text is a name: a DNS label in lower case. */
function isName(text: string): boolean {
  return /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text);
}

/** Return whether a caller of this name uses a token (`controller/auth/tokens.py`). */
export function isOwn(token: string, caller: string | undefined): boolean {
  return caller === `token ${token}`;
}

/** Return the tokens with all words of a search and this state, if one is wanted. */
export function tokensFor(all: readonly Token[], words: string, state: TokenState | ''): Token[] {
  const text = (one: Token) => `${one.name} ${one.role} ${one.tenant ?? ''}`;
  return all.filter((one) => (state === '' || one.state === state) && fits(text(one), words));
}

/** Return the endpoints of tenants with all words of a search and this consent, by tenant. */
export function consentsFor(all: readonly Endpoint[], words: string, state: ConsentState | ''): Endpoint[] {
  const text = (one: Endpoint) => [one.tenant, one.name, one.cloudlet, one.prefix, one.consent.by].join(' ');
  const found = all.filter(
    (one) => one.tenant !== null && (state === '' || one.consent.state === state) && fits(text(one), words),
  );
  return found.sort((a, b) => (a.tenant ?? '').localeCompare(b.tenant ?? '') || a.name.localeCompare(b.name));
}

function fits(text: string, words: string): boolean {
  const said = text.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => said.includes(word));
}

/** Return one of these words that an address names, or '' for any other. */
export function oneOf<T extends string>(words: readonly T[], word: string | null): T | '' {
  return words.find((one) => one === word) ?? '';
}
