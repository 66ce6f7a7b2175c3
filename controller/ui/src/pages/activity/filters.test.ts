import { expect, test } from 'vitest';
import { filtersOf, offered, sees, viewOf, written } from './filters';

const query = (text: string) => new URLSearchParams(text);

test('an address names a view, or all', () => {
  expect([viewOf(query('view=audit')), viewOf(query('view=nonsense')), viewOf(query(''))]).toEqual([
    'audit',
    'all',
    'all',
  ]);
});

test('a view has its own filters alone, and they stay in the address', () => {
  const given = query('view=events&type=move-*&about=%20c1&who=ana');
  const filters = filtersOf('events', given);
  expect(filters).toMatchObject({ type: 'move-*', about: 'c1', who: '' });
  expect(written('events', filters, 'event-7')).toEqual({
    view: 'events',
    type: 'move-*',
    about: 'c1',
    row: 'event-7',
  });
  expect(filtersOf('all', given).type).toBe('');
  expect(written('all', filters)).toEqual({});
  expect(filtersOf('events', query(`about=${'x'.repeat(999)}`)).about).toHaveLength(200);
});

test('the audit log is for operators', () => {
  expect(sees('network-engineer', 'audit')).toBe(false);
  expect(sees('operator', 'audit')).toBe(true);
  expect(sees('viewer', 'events')).toBe(true);
});

test('families of seen types are offered with them', () => {
  expect(offered(['lan-filling'])).toEqual(expect.arrayContaining(['lan-*', 'lan-filling', 'move-*']));
  expect(new Set(offered(['move-done'])).size).toBe(offered(['move-done']).length);
});
