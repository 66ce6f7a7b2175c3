import { expect, test } from 'vitest';
import { byTime, changeLine, eventLine, parsed, statusTone, type Line } from './lines';

const event = (id: number, at: string): Line =>
  eventLine({ id, at, type: 'x', subject: '', text: '', data: {}, source: null });

const change = (generation: number, at: string): Line =>
  changeLine({ generation, at, cause: '', state: 'made', confirm_by: null, settled_at: null });

const T = (second: string) => `2026-05-03T10:00:${second}Z`;
const names = (lines: readonly Line[]) => lines.map((line) => line.name);

test('lists are one by time, whatever digits a second has', () => {
  const events = [event(2, T('02.5')), event(1, T('02'))];
  const changes = [change(9, T('03')), change(8, T('02.25'))];
  const found = byTime([
    { lines: events, more: false },
    { lines: changes, more: false },
  ]);
  expect(names(found.lines)).toEqual(['change-9', 'event-2', 'change-8', 'event-1']);
  expect(found.extend).toBeNull();
});

test('a list with older lines to come hides the older lines of others', () => {
  const events = [event(2, T('09')), event(1, T('05'))];
  const changes = [change(9, T('08')), change(8, T('01'))];
  const found = byTime([
    { lines: events, more: true },
    { lines: changes, more: true },
  ]);
  expect(names(found.lines)).toEqual(['event-2', 'change-9', 'event-1']);
  expect(found.extend).toBe(0);
});

test('an empty list with more to come is loaded first', () => {
  expect(
    byTime([
      { lines: [change(9, T('08'))], more: true },
      { lines: [], more: true },
    ]),
  ).toEqual({
    lines: [],
    extend: 1,
  });
});

test('names in an address', () => {
  expect(parsed('audit-17')).toEqual(['audit', 17]);
  for (const wrong of ['', 'audit-', 'lease-1', 'event-1x', 'event--1']) expect(parsed(wrong)).toBeNull();
});

test('a status has a tone', () => {
  expect([statusTone(201), statusTone(409), statusTone(503)]).toEqual(['good', 'warn', 'bad']);
});
