import { expect, test } from 'vitest';
import { authorityTone, begin, latest, readCertificates, shown, standingOf, type Certificate } from './certificates';

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 4, 3);
const iso = (days: number) => new Date(NOW + days * DAY).toISOString();

const certificate = (serial: string, cloudlet: string, more: Partial<Certificate> = {}): Certificate => ({
  serial,
  cloudlet,
  standing: 'good',
  not_before: iso(-1),
  not_after: iso(1),
  fingerprint: 'f',
  issuer: 'i',
  revoked_at: null,
  reason: null,
  ...more,
});

const ALL = [
  certificate('1', 'c2', { standing: 'expired', not_after: iso(-1) }),
  certificate('2', 'c1'),
  certificate('3', 'c2'),
  certificate('4', 'c1'),
  certificate('5', 'c3', { standing: 'revoked', revoked_at: iso(0), reason: 'keyCompromise' }),
];

test('the latest certificate of a cloudlet stands, and earlier ones are renewed', () => {
  expect([...latest(ALL)].sort()).toEqual(['3', '4', '5']);
  const last = latest(ALL);
  expect(ALL.map((one) => standingOf(one, last.has(one.serial), NOW))).toEqual([
    'expired',
    'renewed',
    'good',
    'good',
    'revoked',
  ]);
});

test('a certificate that should have been renewed, and one that ends while it is shown', () => {
  const one = certificate('1', 'c1', { not_before: iso(-3), not_after: iso(0.9) });
  expect(standingOf(one, true, NOW)).toBe('late');
  expect(standingOf(one, true, NOW - DAY)).toBe('good');
  expect(standingOf(one, true, NOW + DAY)).toBe('expired');
});

test('which certificates are shown, and in which order', () => {
  const serials = (which: Parameters<typeof shown>[1]) => shown(ALL, which, NOW).map((one) => one.serial);
  expect(serials('')).toEqual(['4', '3', '5']);
  expect(serials('all')).toEqual(['4', '2', '3', '1', '5']);
  expect(serials('good')).toEqual(['4', '2', '3']);
  expect(serials('revoked')).toEqual(['5']);
});

test('an authority is renewed in its last month', () => {
  expect([authorityTone(iso(90), NOW), authorityTone(iso(29), NOW), authorityTone(iso(-1), NOW)]).toEqual([
    'good',
    'warn',
    'bad',
  ]);
});

test('an address names which certificates, of whom, and the open one', () => {
  expect(readCertificates(new URLSearchParams('which=all&cloudlet=%20c1&certificate=ab'))).toEqual({
    cloudlet: 'c1',
    which: 'all',
    open: 'ab',
  });
  expect(readCertificates(new URLSearchParams('which=none'))).toEqual({ cloudlet: '', which: '', open: '' });
  expect([begin('0123456789abcdef'), begin('0123')]).toEqual(['0123456789ab…', '0123']);
});
