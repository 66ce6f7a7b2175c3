import { expect, test } from 'vitest';
import { extended, firstPages, refreshed, type Batch } from './batches';

const batch = (items: string, next: string | null = null): Batch<string> => ({ items: [...items], next });
const key = (one: string) => one.toLowerCase();

test('what is new comes to the front, and older items stay', () => {
  expect(refreshed(batch('cba', '1'), batch('edc', '3'), key)).toEqual(batch('edcba', '1'));
  expect(refreshed(batch('', null), batch('ba', '1'), key)).toEqual(batch('ba', '1'));
});

test('an item is shown as it is now, and a removed one no more', () => {
  expect(refreshed(batch('dcba', '1'), batch('Db', '2'), key)).toEqual(batch('Dba', '1'));
  expect(refreshed(batch('dcba', '1'), batch('dc', null), key)).toEqual(batch('dc', null));
});

test('after a gap the list begins anew', () => {
  expect(refreshed(batch('cba', '1'), batch('zyx', '9'), key)).toEqual(batch('zyx', '9'));
});

test('pages that overlap show each item once', () => {
  expect(extended(batch('dc', '2'), batch('cba', '1'), key)).toEqual(batch('dcba', '1'));
  expect(extended(batch('dc', '2'), batch('c', '1'), key)).toEqual(batch('dc', null));
});

test('the first pages of a list are one', async () => {
  const asked: (string | null)[] = [];
  const page = (cursor: string | null) => {
    asked.push(cursor);
    return Promise.resolve(cursor === null ? batch('ab', 'b') : cursor === 'b' ? batch('cd', 'd') : batch('e'));
  };
  expect(await firstPages(1, page)).toEqual(batch('ab', 'b'));
  expect(await firstPages(2, page)).toEqual(batch('abcd', 'd'));
  expect(await firstPages(9, page)).toEqual(batch('abcde'));
  expect(asked).toEqual([null, null, 'b', null, 'b', 'd']);
});
