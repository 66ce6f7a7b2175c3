import { expect, test } from 'vitest';
import { cells, remarks, type ProbedPair, type Verification } from './reachability';

const PASSES: ProbedPair = {
  near: 'a',
  far: 'b',
  family: 'ipv4',
  expected: 'passes',
  observed: 'passes',
  why: '',
  rtt_ms: 5,
  mtu: 1450,
  differs: '',
  causes: [],
};
const found = (pairs: ProbedPair[], unasked: Verification['unasked'] = []): Verification => ({
  ok: true,
  seconds: 1,
  passing: 1,
  filtered: 0,
  forbidden: 0,
  forbidden_of: 0,
  pairs,
  unasked,
  unable: {},
});

test('a pair is one cell, from either end and in both families', () => {
  const both = cells(found([PASSES, { ...PASSES, near: 'b', far: 'a', family: 'ipv6', rtt_ms: 4 }]));
  expect(both.get('a b')).toEqual({ word: 'passes', rtt: 4, why: [] });
  expect(both.get('b a')).toEqual(both.get('a b'));
});

test('the graver of both families counts, with its reasons', () => {
  const broken: ProbedPair = {
    ...PASSES,
    family: 'ipv6',
    observed: 'silent',
    rtt_ms: null,
    differs: 'nothing passes',
    causes: ['a has no tunnel to b.'],
  };
  for (const pairs of [
    [PASSES, broken],
    [broken, PASSES],
  ]) {
    expect(cells(found(pairs)).get('a b')).toEqual({
      word: 'differs',
      rtt: 5,
      why: ['nothing passes', 'a has no tunnel to b.'],
    });
  }
});

test('a rule that keeps packets away is as it should be', () => {
  const quiet: ProbedPair = { ...PASSES, expected: 'resolves', observed: 'resolves', why: 'a rule drops ICMP' };
  expect(cells(found([quiet])).get('b a')).toEqual({ word: 'filtered', rtt: null, why: ['a rule drops ICMP'] });
});

test('who was not asked is said', () => {
  const late = { near: 'a', far: 'c', reason: 'the agent of a sent no result in time' };
  expect(cells(found([PASSES], [late])).get('c a')).toEqual({ word: 'unasked', rtt: null, why: [late.reason] });
  const broken = { ...PASSES, near: 'd', differs: 'x' };
  expect(remarks(found([PASSES, broken], [late]))).toEqual([
    { pair: 'b – d', word: 'differs', text: 'x' },
    { pair: 'a – c', word: 'unasked', text: late.reason },
  ]);
});
