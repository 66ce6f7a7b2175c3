import { expect, test } from 'vitest';
import { alarmsOn, findings, type Difference } from './overview';

const difference = (kind: string, remedy: string, subject: string): Difference => ({
  kind,
  remedy,
  subject,
  where: 'rs1',
  expected: '',
  found: '',
  text: subject,
});

test('alarms that are off are left out, and the gravest is first', () => {
  const off = { tunnels: 0, filling: 0, unconsented: 0, unapproved: 0, events_lost: 0 };
  expect(alarmsOn(off)).toEqual([]);
  expect(alarmsOn({ ...off, unconsented: 3, tunnels: 1 })).toEqual([
    ['tunnels', 1],
    ['unconsented', 3],
  ]);
});

test('differences with one remedy are one finding, with the number of all', () => {
  const listed = [difference('a', 'x', '1'), difference('b', 'y', '2'), difference('b', 'y', '3')];
  const found = findings(listed, { a: 40, b: 2 });
  expect(found.map((one) => [one.kind, one.differences.length, one.count])).toEqual([
    ['a', 1, 40],
    ['b', 2, 2],
  ]);
  expect(findings([], {})).toEqual([]);
});
