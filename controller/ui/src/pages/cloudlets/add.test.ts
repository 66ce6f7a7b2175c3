import { expect, test } from 'vitest';
import { agentSettings, lanOf, signs, wanted, type CloudletForm, type RouteServer } from './add';
import type { Cloudlet } from './cloudlets';

const FORM: CloudletForm = {
  name: 'c9',
  unmanaged: false,
  pe: 'vpls',
  vtep: '192.0.2.9',
  asn: '',
  approval: false,
  place: '',
  labels: '',
  prefix: '',
  ports: '',
};

test('a form is what is sent', () => {
  expect(wanted({ ...FORM, name: ' c9 ', place: '45.07, 7.69', labels: 'city=turin, edge, a=b=c' })).toEqual({
    name: 'c9',
    pe: 'vpls',
    vtep: '192.0.2.9',
    unmanaged: false,
    approval: false,
    token_seconds: 3600,
    latitude: 45.07,
    longitude: 7.69,
    labels: { city: 'turin', edge: '', a: 'b=c' },
  });
});

test('only a PE without an agent has an AS number, and none is approved', () => {
  const both = { ...FORM, asn: '64900', approval: true };
  expect(wanted(both)).not.toHaveProperty('asn');
  expect(wanted(both)).toMatchObject({ approval: true });
  expect(wanted({ ...both, unmanaged: true })).toMatchObject({ asn: 64900, approval: false });
});

test.each([
  [{ name: '' }, ['name']],
  [{ name: 'C9' }, ['name']],
  [{ vtep: 'fe80::1' }, ['vtep']],
  [{ place: '45.07' }, ['place']],
  [{ place: '95, 7' }, ['place']],
  [{ labels: 'City=x' }, ['labels']],
  [{ unmanaged: true, asn: 'x' }, ['asn']],
  [{ name: '-', vtep: '' }, ['name', 'vtep']],
])('%j is wrong in %j', (change, fields) => {
  expect([...(wanted({ ...FORM, ...change }) as Set<string>)]).toEqual(fields);
});

test('a LAN is made with the cloudlet if it is asked for', () => {
  expect(lanOf(FORM)).toBeNull();
  expect(lanOf({ ...FORM, prefix: '10.9.0.0/24', ports: 'md*, eth1.100' })).toMatchObject({
    name: 'c9-lan',
    cloudlet: 'c9',
    ports: ['md*', 'eth1.100'],
  });
  expect(lanOf({ ...FORM, unmanaged: true, prefix: '10.9.0.0/24', ports: 'md*' })).toMatchObject({ ports: [] });
});

test('the settings name the cloudlet and its controller', () => {
  expect(agentSettings('c9', 'weft.example.org')).toContain('controller = ["https://weft.example.org:8443"]');
});

const cloudlet = (change: object) =>
  ({
    name: 'c9',
    state: 'active',
    unmanaged: false,
    approval: false,
    endpoints: ['c9-lan'],
    agent: { connected: true, generation: 7 },
    ...change,
  }) as unknown as Cloudlet;
const server = (state: string) => ({ sessions: [{ peer: 'c9', state }] }) as unknown as RouteServer;
const said = (...given: Parameters<typeof signs>) => signs(...given).map(({ name, state }) => `${name} ${state}`);

test('the first step that is not done is waited for', () => {
  const two = [server('established'), server('active')];
  expect(said(cloudlet({ state: 'invited', endpoints: [] }), two, 7)).toEqual([
    'enrolled waits',
    'lan ahead',
    'sessions ahead',
    'kernel done',
  ]);
  expect(said(cloudlet({}), two, 7)).toEqual(['enrolled done', 'lan done', 'sessions waits', 'kernel done']);
  expect(signs(cloudlet({}), two, 7)[2]).toMatchObject({ done: 1, of: 2 });
  expect(said(cloudlet({}), [server('established')], 8).at(-1)).toBe('kernel waits');
  expect(said(cloudlet({ approval: true, state: 'pending' }), [], 7)).toEqual([
    'enrolled done',
    'approved waits',
    'lan done',
    'sessions ahead',
    'kernel done',
  ]);
});

test('a PE without an agent has sessions alone', () => {
  expect(said(cloudlet({ unmanaged: true }), [server('established')], 7)).toEqual(['lan done', 'sessions done']);
});
