import { expect, test } from 'vitest';
import { PAGES } from '../pages';
import { isCurrent, navigation } from './navigation';

test('a role sees its pages', () => {
  const seen = (role: 'viewer' | 'tenant') => navigation(PAGES, role).flatMap(([, pages]) => pages.map((p) => p.path));
  expect(seen('viewer')).toEqual([
    '/',
    '/map',
    '/cloudlets',
    '/pools',
    '/addresses',
    '/policy',
    '/activity',
    '/access',
    '/moves',
    '/vms',
    '/routes',
    '/routes/explain',
    '/neighbours',
    '/tunnels',
  ]);
  expect(seen('tenant')).toEqual(['/lans', '/own/vms']);
});

test('the list of a detail is the present page', () => {
  const all = navigation(PAGES, 'admin').flatMap(([, pages]) => pages);
  const current = (present: string) =>
    all.filter((page) => isCurrent(page.path, present, all)).map((page) => page.path);
  expect(current('/')).toEqual(['/']);
  expect(current('/pools/blue')).toEqual(['/pools']);
  expect(current('/routes/explain')).toEqual(['/routes/explain']);
  expect(current('/nowhere')).toEqual([]);
});

test('no two pages have one address or one key', () => {
  const all = PAGES.map((page) => page.path);
  const keys = PAGES.flatMap((page) => (page.menu ? [page.menu.key] : []));
  expect(new Set(all).size).toBe(all.length);
  expect(new Set(keys).size).toBe(keys.length);
});
