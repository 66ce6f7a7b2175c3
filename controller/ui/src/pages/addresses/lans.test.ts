import { expect, test } from 'vitest';
import { every, filled, isAbout, lanView, levelNamed, levelOf, matching, outlook, type Lan } from './lans';

const NOW = new Date('2026-05-03T10:00:00Z').getTime();

const lan = (more: Partial<Lan> = {}): Lan => ({
  endpoint: 'c1-lan',
  prefix: '10.1.0.0/24',
  capacity: 126,
  excluded: 26,
  assigned: 12,
  leased: 10,
  available: 90,
  per_day: null,
  full_at: null,
  forecast: '',
  peaks: [],
  ...more,
});

test('the part in use is one of the usable pairs', () => {
  expect(filled(lan())).toBeCloseTo(0.1);
  expect(filled(lan({ leased: 200 }))).toBe(1);
  expect(filled(lan({ capacity: 2, excluded: 2 }))).toBe(1);
});

test('a LAN fills by what is left of it, or by its forecast', () => {
  expect(levelOf(lan(), NOW)).toBe('roomy');
  expect(levelOf(lan({ leased: 90, available: 10 }), NOW)).toBe('filling');
  expect(levelOf(lan({ full_at: '2026-05-09T10:00:00Z' }), NOW)).toBe('filling');
  expect(levelOf(lan({ full_at: '2026-06-09T10:00:00Z' }), NOW)).toBe('roomy');
  expect(levelOf(lan({ available: 0 }), NOW)).toBe('full');
});

test('the forecast in a word', () => {
  const words = [
    lan(),
    lan({ per_day: -1 }),
    lan({ per_day: 0.001 }),
    lan({ per_day: 4, full_at: '2026-05-09T10:00:00Z' }),
    lan({ available: 0, full_at: '2026-05-03T10:00:00Z' }),
  ].map(outlook);
  expect(words).toEqual(['young', 'steady', 'far', 'ends', 'full']);
});

test('a search wants all words, in any case', () => {
  const rows = ['c1-lan 10.1.0.0/24', 'c2-lan 10.2.0.0/24'];
  const find = (words: string) => matching(rows, words, (row) => row);
  expect(find('LAN 10.2')).toEqual([rows[1]]);
  expect(find(' ')).toEqual(rows);
  expect(find('lan nothing')).toEqual([]);
});

test('an address names a view and a level', () => {
  const view = (text: string) => lanView(new URLSearchParams(text));
  expect([view('view=leases'), view('view=<b>'), view('')]).toEqual(['leases', 'plan', 'plan']);
  expect([levelNamed('full'), levelNamed('half'), levelNamed(null)]).toEqual(['full', '', '']);
});

test('a large LAN is loaded less often', () => {
  expect([every(lan()), every(lan({ leased: 5000 }))]).toEqual([15, 60]);
});

test('leases of other LANs are not this one’s matter', () => {
  const event = (type: string, subject: string, data: Record<string, unknown> = {}) => {
    return { id: 1, at: '2026-05-03T10:00:00Z', type, subject, text: '', data, source: null };
  };
  const about = (type: string, subject: string, data = {}) => isAbout(event(type, subject, data), 'c1-lan');
  expect(about('lease-granted', 'm1', { endpoint: 'c1-lan' })).toBe(true);
  expect(about('lease-granted', 'm1', { endpoint: 'c2-lan' })).toBe(false);
  expect(about('static-given-up', 'c1-lan')).toBe(true);
  expect(about('lan-filling', 'c2-lan')).toBe(false);
  expect([about('policy-applied', '7'), about('device-forgotten', 'm1')]).toEqual([true, true]);
});
