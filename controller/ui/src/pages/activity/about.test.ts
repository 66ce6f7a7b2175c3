import { expect, test } from 'vitest';
import { about } from './about';
import { auditLine, changeLine, eventLine } from './lines';

const AT = '2026-05-03T10:00:00Z';

function ofEvent(type: string, subject: string, data: Record<string, unknown> = {}): string[] {
  const line = eventLine({ id: 1, at: AT, type, subject, text: '', data, source: null });
  return about(line).map((thing) => thing.href);
}

function ofAudit(path: string): string[] {
  const entry = { number: 1, at: AT, who: 'ana', method: 'POST', path, status: 200, seal: '' };
  return about(auditLine({ ...entry, asked: null, before: null, after: null })).map((thing) => thing.href);
}

function ofCause(cause: string): string[] {
  const change = { generation: 5, at: AT, cause, state: 'made' as const, confirm_by: null, settled_at: null };
  return about(changeLine(change)).map((thing) => thing.href);
}

test.each([
  ['move-memory', 'move-1', ['/moves/move-1']],
  ['move-decided', 'web', ['/vms/web']],
  ['move-missed', 'job', ['/moves?view=scheduled']],
  ['vcp-created', 'blue', ['/pools/blue']],
  ['cloudlet-drained', 'c/1', ['/cloudlets/c%2F1']],
  ['device-seen', 'm1', ['/activity?view=events&about=m1']],
  ['nobody-knows', 'x', []],
])('an event %s is about its subject', (type, subject, found) => {
  expect(ofEvent(type, subject)).toEqual(found);
});

test('data name further things, each once', () => {
  expect(ofEvent('member-joined', 'c1-lan', { vcp: 'blue', generation: 7, source: '' })).toEqual([
    '/cloudlets?q=c1-lan',
    '/pools/blue',
    '/activity?view=changes&row=change-7',
  ]);
  expect(ofEvent('session-down', 'c1', { peer: 'c1' })).toEqual(['/cloudlets/c1']);
  expect(ofEvent('cloudlet-changed', 'c1', { cloudlet: 'c1', vm: ['x'] })).toEqual(['/cloudlets/c1']);
});

test.each([
  ['/api/v1/vcps/blue/members', ['/pools/blue']],
  ['/api/v1/vms/web/start', ['/vms/web']],
  ['/api/v1/moves/scheduled/job', ['/moves?view=scheduled']],
  ['/api/v1/moves/ahead', []],
  ['/api/v1/cloudlets/%E0%A4%A', ['/cloudlets/%25E0%25A4%25A']],
  ['/api/v1/tokens/ana', []],
  ['its device came', []],
])('an audit entry of %s is about what its path names', (path, found) => {
  expect(ofAudit(path)).toEqual(found);
});

test('a change is about what its cause names', () => {
  expect(ofCause('c3-lan joined blue')).toEqual(['/pools/blue']);
  expect(ofCause('drain c1')).toEqual(['/cloudlets/c1']);
  expect(ofCause('announce permits')).toEqual([]);
});
