import { expect, test } from 'vitest';
import { asked, fateOf, readTunnels, toneOf, viewOf, type Tunnel } from './tunnels';

const AT = '2026-05-03T10:00:00Z';

const end = (more: Partial<Tunnel> = {}): Tunnel => ({
  cloudlet: 'c1',
  peer: 'c2',
  local: '192.0.2.1',
  remote: '192.0.2.2',
  state: 'up',
  since: AT,
  needed: true,
  alarm: null,
  ike: '',
  esp: '',
  keyed_at: AT,
  rekey_at: AT,
  bytes_in: 0,
  bytes_out: 0,
  packets_in: 0,
  packets_out: 0,
  dropped_in: 0,
  dropped_out: 0,
  why: null,
  at: AT,
  ...more,
});

const query = (text: string) => new URLSearchParams(text);

test('an end has a tone', () => {
  expect(toneOf(end())).toBe('good');
  expect(toneOf(end({ state: 'connecting' }))).toBe('thread');
  expect(toneOf(end({ state: 'down' }))).toBe('warn');
  expect(toneOf(end({ state: 'connecting', alarm: AT }))).toBe('bad');
  expect(toneOf(end({ state: 'down', needed: false }))).toBe('quiet');
  expect(toneOf(end({ alarm: AT }))).toBe('good');
});

test('what becomes of the traffic', () => {
  const down = end({ state: 'down' });
  expect(fateOf(end(), end())).toBe('encrypted');
  expect(fateOf(end(), down)).toBe('blocked');
  expect(fateOf(down, null)).toBe('silent');
  expect(fateOf(null, end())).toBe('silent');
  expect(fateOf(end({ needed: false }), end({ needed: false }))).toBe('idle');
  expect(fateOf(null, null)).toBe('idle');
});

test('an address names a view, filters and an open tunnel', () => {
  expect([viewOf(query('view=certificates')), viewOf(query('view=x'))]).toEqual(['certificates', 'tunnels']);
  const found = readTunnels(query('cloudlet=%20c1&state=down&alarm=yes&from=c1&to=c2'));
  expect(found).toEqual({
    filters: { cloudlet: 'c1', peer: '', state: 'down', alarm: 'yes' },
    open: { from: 'c1', to: 'c2' },
  });
  expect(asked(found.filters)).toEqual({ cloudlet: 'c1', state: 'down', alarm: true });
  expect(readTunnels(query('state=x&alarm=maybe&from=c1'))).toEqual({
    filters: { cloudlet: '', peer: '', state: '', alarm: '' },
    open: null,
  });
  expect(asked(readTunnels(query('alarm=no&peer=c2')).filters)).toEqual({ peer: 'c2', alarm: false });
});
