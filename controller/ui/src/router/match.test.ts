import { expect, test } from 'vitest';
import { fill, find, fit, own, query } from './match';

test('a path fits with its parameters', () => {
  expect(fit('/pools/:name', '/pools/blue')).toEqual({ name: 'blue' });
  expect(fit('/pools/:name', '/pools/')).toBeNull();
  expect(fit('/pools', '/pools/')).toEqual({});
  expect(fit('/', '/')).toEqual({});
  expect(fit('/pools/:name', '/pools/a%2Fb')).toEqual({ name: 'a/b' });
  expect(fit('/pools/:name', '/pools/%E0%A4%A')).toBeNull();
});

test('the first entry that fits is taken', () => {
  const entries = [{ path: '/routes/explain' }, { path: '/routes/:key' }];
  expect(find(entries, '/routes/explain')?.[0]).toBe(entries[0]);
  expect(find(entries, '/routes/7')?.[1]).toEqual({ key: '7' });
  expect(find(entries, '/')).toBeNull();
});

test('a parameter stays one segment', () => {
  expect(fill('/pools/:name', { name: 'a/b?c' })).toBe('/pools/a%2Fb%3Fc');
  expect(query({ a: 'x&y', b: undefined, c: '' })).toBe('?a=x%26y');
  expect(query({})).toBe('');
});

test.each(['//evil.example', '/\\evil.example', 'https://evil.example', 'javascript:alert(1)', '/a\nb', '', null])(
  'no path leads to another site: %s',
  (path) => expect(own(path)).toBe('/'),
);

test('paths of this site stay', () => {
  expect(own('/pools/blue?x=1#y')).toBe('/pools/blue?x=1#y');
});
