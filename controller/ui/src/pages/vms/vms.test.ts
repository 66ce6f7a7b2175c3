import { expect, test } from 'vitest';
import { destinations, inputsOf, momentOf, search, type Endpoint, type Prediction, type Vm } from './vms';

const vm = (name: string, more: Partial<Vm> = {}): Vm =>
  ({
    name,
    device: 'm1',
    cloudlet: 'c1',
    endpoint: 'c1-lan',
    address: null,
    image: 'debian',
    driver: 'qemu',
    ...more,
  }) as Vm;

const endpoint = (name: string, cloudlet: string, ...vcps: string[]): Endpoint =>
  ({ name, cloudlet, vcps }) as unknown as Endpoint;

test('a search finds machines by all of its words', () => {
  const all = [vm('web', { address: '10.1.0.3' }), vm('db', { driver: 'container', condition: 'paused' })];
  const names = (words: string) => search(all, words).map((one) => one.name);
  expect(names('')).toEqual(['web', 'db']);
  expect(names('10.1 debian')).toEqual(['web']);
  expect(names('CONTAINER')).toEqual(['db']);
  expect(names('web paused')).toEqual([]);
});

test('destinations are at other cloudlets, those of its pools first', () => {
  const all = [
    endpoint('a-lan', 'c3', 'red'),
    endpoint('c1-lan', 'c1', 'blue'),
    endpoint('c1-two', 'c1', 'blue'),
    endpoint('z-lan', 'c2', 'blue'),
  ];
  expect(destinations(all, vm('web')).map((one) => one.name)).toEqual(['z-lan', 'a-lan']);
  expect(destinations([], vm('web'))).toEqual([]);
});

test('only a time that is yet to come is one', () => {
  const now = new Date('2026-05-03T10:00').getTime();
  expect(momentOf('2026-05-03T10:01', now)).toBe(new Date('2026-05-03T10:01').toISOString());
  for (const wrong of ['2026-05-03T10:00', '', 'soon']) expect(momentOf(wrong, now)).toBeNull();
});

test('inputs have an order, and unknown ones are left out', () => {
  const inputs = {
    rtt_ms: { value: 1, origin: 'x' },
    memory: { value: 2, origin: 'y' },
    other: { value: 3, origin: '' },
  };
  const found = inputsOf({ estimate: { inputs } } as unknown as Prediction);
  expect(found.map(([name]) => name)).toEqual(['memory', 'rtt_ms']);
});
