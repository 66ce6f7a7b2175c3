import { expect, test } from 'vitest';
import { address, conditionOf, filtersOf, readNeighbours, type Neighbour } from './neighbours';

const AT = '2026-05-03T10:00:00Z';

const neighbour = (more: Partial<Neighbour> = {}): Neighbour => ({
  cloudlet: 'c1',
  neighbour: 'c2',
  possible: true,
  stale: false,
  since: AT,
  at: AT,
  method: 'icmp',
  sent: 5,
  received: 5,
  min_ms: 9,
  median_ms: 10,
  p95_ms: 12,
  jitter_ms: 1,
  loss: 0,
  ...more,
});

const read = (text: string) => readNeighbours(new URLSearchParams(text));

test('the worst of a neighbour is its condition', () => {
  const condition = (more: Partial<Neighbour>) => conditionOf(neighbour(more));
  expect(condition({})).toBe('possible');
  expect(condition({ loss: 0.15 })).toBe('possible');
  expect(condition({ possible: false, median_ms: 300 })).toBe('far');
  expect(condition({ possible: false, loss: 0.4 })).toBe('lossy');
  expect(condition({ possible: false, median_ms: null, loss: 1 })).toBe('unreachable');
  expect(condition({ possible: false, stale: true, median_ms: null })).toBe('stale');
});

test('an address names a view, filters, a pair and a span', () => {
  expect(read('')).toMatchObject({ view: 'matrix', words: '', small: false, pair: null, span: 'round', state: '' });
  expect(read('view=list&cloudlet=%20c1&state=impossible&from=c1&to=c2&span=day')).toMatchObject({
    view: 'list',
    cloudlet: 'c1',
    state: 'impossible',
    pair: { from: 'c1', to: 'c2' },
    span: 'day',
  });
  expect(read('view=x&state=y&span=z&from=c1')).toMatchObject({ view: 'matrix', state: '', span: 'round', pair: null });
  expect(read(`q=${'x'.repeat(999)}`).words).toHaveLength(200);
});

test('an address is written without what goes without saying', () => {
  for (const text of ['', '?view=list&state=stale', '?vcp=blue&q=c1+%3E&cells=small', '?from=c1&to=c2&span=hour'])
    expect(address(read(text))).toBe('/neighbours' + text);
  expect(address(read('view=list&q=c1&vcp=blue'))).toBe('/neighbours?view=list');
});

test('filters as the API takes them', () => {
  expect(filtersOf(read('view=list'))).toEqual({});
  expect(filtersOf(read('cloudlet=c1&neighbour=c2&state=possible'))).toEqual({
    cloudlet: 'c1',
    neighbour: 'c2',
    possible: true,
  });
  expect(filtersOf(read('state=impossible'))).toEqual({ possible: false, stale: false });
  expect(filtersOf(read('state=stale'))).toEqual({ stale: true });
});
