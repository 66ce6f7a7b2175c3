import { expect, test } from 'vitest';
import { failed, lingers, readMoves, revocable, share, sums, timeline, type MoveInFull, type MoveStep } from './moves';

const AT = '2026-05-03T10:00:00Z';

const step = (name: string, state = 'done', more: Partial<MoveStep> = {}): MoveStep => ({
  step: name,
  undoing: false,
  state,
  detail: '',
  figures: {},
  began_at: AT,
  ended_at: state === 'running' ? null : AT,
  seconds: state === 'running' ? null : 1,
  ...more,
});

const move = (more: Partial<MoveInFull> = {}): MoveInFull => ({
  name: 'move-1',
  vm: 'v1',
  device: 'm1',
  source: 'c1',
  destination: 'c2',
  endpoint: 'c2-lan',
  state: 'moving',
  step: 'memory',
  reason: '',
  asked_by: 'operator',
  keep: false,
  ahead: false,
  anew: false,
  at: 'c1-lan',
  address: '10.1.0.3',
  new_address: null,
  pool: null,
  order: 1,
  seconds: 1,
  figures: {},
  created_at: AT,
  changed_at: AT,
  ended_at: null,
  steps: [],
  ...more,
});

const names = (one: MoveInFull) => timeline(one).map((line) => `${line.step}:${line.state}`);

test('the timeline has the steps that are ahead', () => {
  const steps = [step('authorise'), step('prepare'), step('disk', 'skipped'), step('memory', 'running')];
  expect(names(move({ steps }))).toEqual([
    'authorise:done',
    'prepare:done',
    'disk:skipped',
    'memory:running',
    'switchover:ahead',
    'activate:ahead',
    'join:ahead',
    'leave:ahead',
    'discard:ahead',
  ]);
  expect(names(move({ ahead: true, steps }))).toHaveLength(4);
  expect(names(move({ anew: true, state: 'waiting' }))).toContain('initiate:ahead');
});

test('what has ended, or is being undone, has nothing ahead', () => {
  const steps = [step('authorise'), step('normal')];
  expect(names(move({ state: 'done', steps }))).toEqual(['authorise:done']);
  expect(names(move({ state: 'undoing', steps: [step('memory', 'failed')] }))).toEqual(['memory:failed']);
});

test('a running step has the figures of now', () => {
  const steps = [step('memory', 'running', { figures: { total: 100, done: 0 } })];
  const figures = { memory: { done: 40, total: 100, wire: 50, paused_ms: 12 } };
  expect(timeline(move({ steps, figures }))[0]).toMatchObject({ done: 40, total: 100, wire: 50, stall: 12 });
});

test('the step that has stopped a move', () => {
  const steps = [step('prepare', 'refused', { detail: 'no room' }), step('abort', 'failed', { undoing: true })];
  expect(failed(move({ state: 'undone', steps }))?.detail).toBe('no room');
  expect(failed(move({ state: 'moving', steps }))).toBeUndefined();
  expect(failed(move({ state: 'undone', steps: [step('prepare')] }))).toBeUndefined();
});

test('a move can be undone until the switchover', () => {
  expect(revocable(move())).toBe(true);
  expect(revocable(move({ state: 'waiting', step: 'authorise' }))).toBe(true);
  expect(revocable(move({ anew: true, step: 'initiate' }))).toBe(true);
  for (const late of ['switchover', 'leave', 'abort', 'normal'] as const)
    expect(revocable(move({ step: late }))).toBe(false);
  expect(revocable(move({ state: 'done' }))).toBe(false);
  expect([lingers(move({ step: 'leave' })), lingers(move({ step: 'leave', state: 'done' }))]).toEqual([true, false]);
});

test('how much is done', () => {
  expect(share(move({ step: 'authorise' }))).toBe(0);
  expect(share(move({ figures: { memory: { done: 50, total: 100 } } }))).toBeCloseTo(5.5 / 11);
  expect(share(move({ figures: { memory: { done: 500, total: 100 } } }))).toBeCloseTo(6 / 11);
  expect(share(move({ step: 'abort' }))).toBe(0.9);
  expect(share(move({ state: 'undone' }))).toBe(1);
});

test('bytes and pauses are summed up', () => {
  const figures = { memory: { wire: 5 }, switchover: { wire: 2, paused_ms: 40 }, activate: { paused_ms: 3 } };
  expect(sums(move({ figures }))).toEqual({ wire: 7, stall: 43 });
  expect(sums(move())).toEqual({ wire: 0, stall: null });
});

test('an address names a view and filters', () => {
  const read = (text: string) => readMoves(new URLSearchParams(text));
  expect(read('view=decisions').view).toBe('decisions');
  expect(read('view=x&state=lost&vm=%20v1 ')).toEqual({
    view: 'moves',
    filters: { state: '', vm: 'v1', cloudlet: '' },
  });
  expect(read('state=undone').filters.state).toBe('undone');
});
