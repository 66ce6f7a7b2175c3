import { expect, test } from 'vitest';
import {
  accessView,
  CONSENT_STATES,
  consentsFor,
  isOwn,
  oneOf,
  sees,
  tokensFor,
  wanted,
  type Endpoint,
  type Token,
  type TokenForm,
} from './access';

const AT = '2026-05-03T10:00:00Z';

const token = (name: string, more: Partial<Token> = {}): Token => ({
  name,
  role: 'viewer',
  tenant: null,
  state: 'good',
  created_at: AT,
  expires_at: AT,
  revoked_at: null,
  used_at: null,
  ...more,
});

const endpoint = (name: string, tenant: string | null, state: Endpoint['consent']['state']) =>
  ({ name, tenant, cloudlet: 'c1', prefix: '10.1.0.0/24', consent: { state, by: null, at: null } }) as Endpoint;

test('a role sees its views, and lands on the first of them', () => {
  const view = (text: string, role: 'admin' | 'operator') => accessView(new URLSearchParams(text), role);
  expect([view('', 'admin'), view('', 'operator'), view('view=roles', 'admin')]).toEqual([
    'tokens',
    'consents',
    'roles',
  ]);
  expect(view('view=tokens', 'operator')).toBe('tokens');
  expect([sees('operator', 'tokens'), sees('admin', 'tokens'), sees('viewer', 'consents')]).toEqual([
    false,
    true,
    true,
  ]);
  expect(sees('tenant', 'consents')).toBe(false);
});

test('a token is made of a form', () => {
  const form: TokenForm = { name: ' dashboard ', role: 'viewer', tenant: 'acme', days: '30' };
  expect(wanted(form)).toEqual({ name: 'dashboard', role: 'viewer', seconds: 2_592_000 });
  expect(wanted({ ...form, role: 'tenant' })).toMatchObject({ role: 'tenant', tenant: 'acme' });
});

test('what is wrong in the form', () => {
  const form: TokenForm = { name: 'a', role: 'viewer', tenant: '', days: '1' };
  for (const name of ['', 'Ana', '-a', 'a b', 'x'.repeat(64)])
    expect(wanted({ ...form, name }), name).toEqual(new Set(['name']));
  for (const days of ['', '0', '367', '1.5', 'x']) expect(wanted({ ...form, days }), days).toEqual(new Set(['days']));
  expect(wanted({ ...form, role: 'tenant' })).toEqual(new Set(['tenant']));
});

test('tokens by words and state', () => {
  const all = [token('ana', { role: 'operator' }), token('acme-portal', { role: 'tenant', tenant: 'acme' })];
  const names = (words: string, state: '' | 'good' | 'revoked' = '') =>
    tokensFor(all, words, state).map((one) => one.name);
  expect(names('')).toEqual(['ana', 'acme-portal']);
  expect(names(' OPER ')).toEqual(['ana']);
  expect(names('acme', 'revoked')).toEqual([]);
});

test('consents are by tenant, and an endpoint without one needs none', () => {
  const all = [
    endpoint('z-lan', 'beta', 'waiting'),
    endpoint('b-lan', 'acme', 'given'),
    endpoint('a-lan', 'acme', 'waiting'),
    endpoint('c1-lan', null, 'unasked'),
  ];
  expect(consentsFor(all, '', '').map((one) => one.name)).toEqual(['a-lan', 'b-lan', 'z-lan']);
  expect(consentsFor(all, 'acme', 'waiting').map((one) => one.name)).toEqual(['a-lan']);
});

test('words in an address', () => {
  expect([oneOf(CONSENT_STATES, 'given'), oneOf(CONSENT_STATES, '<b>'), oneOf(CONSENT_STATES, null)]).toEqual([
    'given',
    '',
    '',
  ]);
  expect([isOwn('ana', 'token ana'), isOwn('ana', 'ana'), isOwn('ana', undefined)]).toEqual([true, false, false]);
});
