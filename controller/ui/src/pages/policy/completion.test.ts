import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { keys, place, values, type Schema } from './completion';

const schema = JSON.parse(readFileSync('../../policies/schema.json', 'utf8')) as Schema;
const names = (offers: { label: string }[]) => offers.map((one) => one.label);

const POLICY = `apiVersion: weft/v1
# a comment
vcps:
  blue:
    flavour: vpls
    members:
    - c1-lan

    x
tests:
  - name: a
    reachable:
      from: c1-lan
  - y
migration:
z`.split('\n');

function at(mark: string) {
  return place(
    POLICY,
    POLICY.findIndex((line) => line.trim().replace(/^- /, '') === mark),
  );
}

test('a line is where its indentation says', () => {
  expect(at('x')).toEqual({ way: ['vcps', 'blue'], there: ['flavour', 'members'] });
  expect(at('y')).toEqual({ way: ['tests', null], there: [] });
  expect(at('z')).toEqual({ way: [], there: ['apiVersion', 'vcps', 'tests', 'migration'] });
  expect(at('c1-lan')).toEqual({ way: ['vcps', 'blue', 'members', null], there: [] });
  expect(at('from: c1-lan').way).toEqual(['tests', null, 'reachable']);
  expect(place([], 0)).toEqual({ way: [], there: [] });
});

test('keys are those of the schema that are not there yet, and say what they mean', () => {
  const offered = keys(schema, ['vcps', 'blue'], ['members']);
  expect(names(offered)).toEqual(expect.arrayContaining(['flavour', 'select', 'automatic']));
  expect(names(offered)).not.toContain('members');
  expect(offered.find((one) => one.label === 'flavour')?.info).toContain('Kind of PE');
  expect(names(keys(schema, [], []))).toContain('migration');
  expect(names(keys(schema, ['tests', null], []))).toContain('reachable');
  expect(keys(schema, ['nowhere', 'at', 'all'], [])).toEqual([]);
});

test('values are those that the schema names', () => {
  expect(names(values(schema, ['vcps', 'blue', 'flavour']))).toEqual(['vpls', 'evpn', 'vpnv4', 'vpnv6']);
  expect(names(values(schema, ['migration', 'post_copy']))).toEqual(['true', 'false']);
  expect(values(schema, ['vcps', 'blue', 'description'])).toEqual([]);
});
