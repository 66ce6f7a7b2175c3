/** Plans and revisions of the policy as the page shows them. Pure. */

import type { Schemas } from '../../api/client';
import type { FieldError } from '../../api/failure';
import type { ChangeResult } from '../pools/change';

export type PolicySteps = Schemas['PolicySteps'];
export type PolicyPlan = Schemas['PolicyPlan'];
export type Revision = Schemas['Revision'];
export type PolicyTest = Schemas['PolicyTest'];

/** The change in a plan; the controller leaves no field of it out. */
export function changeOf(plan: PolicyPlan): ChangeResult {
  return plan.change as ChangeResult;
}

export type Sign = '+' | '-' | '~' | '·';

export type StepKind =
  'create' | 'adopt' | 'describe' | 'delete' | 'join' | 'leave' | 'split' | 'setting' | 'waiting' | 'out';

/** One step: its sign as in a diff, and what it names. */
export interface Step {
  sign: Sign;
  kind: StepKind;
  name: string;
  of: string;
}

/** Return the steps of a plan in the order in which they are shown. */
export function steps(plan: PolicySteps): Step[] {
  const each = (sign: Sign, kind: StepKind, names: readonly string[] | undefined) =>
    (names ?? []).map((name) => ({ sign, kind, name, of: '' }));
  return [
    ...each('+', 'create', plan.create),
    ...each('~', 'adopt', plan.adopt),
    ...each('~', 'describe', plan.describe),
    ...each('-', 'delete', plan.delete),
    ...(plan.join ?? []).map(({ endpoint, vcp }): Step => ({ sign: '+', kind: 'join', name: endpoint, of: vcp })),
    ...(plan.leave ?? []).map(({ endpoint, vcp }): Step => ({ sign: '-', kind: 'leave', name: endpoint, of: vcp })),
    ...(plan.splits ?? []).map(({ vcp, parts }): Step => ({
      sign: '~',
      kind: 'split',
      name: vcp,
      of: parts.join(', '),
    })),
    ...(plan.settings ?? []).map(setting),
    ...(plan.waiting ?? []).map(({ endpoint, vcp, why }): Step => ({
      sign: '·',
      kind: 'waiting',
      name: endpoint,
      of: `${vcp}: ${why}`,
    })),
    ...(plan.out ?? []).map(({ endpoint, vcp, why }): Step => ({
      sign: '·',
      kind: 'out',
      name: endpoint,
      of: `${vcp}: ${why}`,
    })),
  ];
}

function setting({ path, before, after }: Schemas['ChangedSetting']): Step {
  if (before === null) return { sign: '+', kind: 'setting', name: path, of: after ?? '' };
  if (after === null) return { sign: '-', kind: 'setting', name: path, of: before };
  return { sign: '~', kind: 'setting', name: path, of: `${before} → ${after}` };
}

/** Return whether a plan changes something: endpoints that wait or stay out are no changes. */
export function changes(plan: PolicySteps): boolean {
  return steps(plan).some((step) => step.sign !== '·');
}

export type DiffKind = 'plus' | 'minus' | 'place' | 'same';

/** Return the lines of a `diff -u` with their kinds; the two lines that name the files are places too. */
export function diffLines(diff: string): { kind: DiffKind; text: string }[] {
  const kind = (line: string): DiffKind => {
    if (/^(@@|--- |\+\+\+ )/.test(line)) return 'place';
    if (line.startsWith('+')) return 'plus';
    return line.startsWith('-') ? 'minus' : 'same';
  };
  return diff === ''
    ? []
    : diff
        .replace(/\n$/, '')
        .split('\n')
        .map((text) => ({ kind: kind(text), text }));
}

/** A message at a place of a text, with offsets from its beginning. */
export interface Mark {
  from: number;
  to: number;
  severity: 'error' | 'warning';
  message: string;
}

/** Return errors of the API as marks in a text: each from its column to the end of its line. Errors without a place, or
    beyond the text, are left out. */
export function marks(text: string, errors: readonly FieldError[], severity: Mark['severity']): Mark[] {
  const lines = text.split('\n');
  const starts = lines.reduce<number[]>((all, line) => [...all, (all.at(-1) ?? 0) + line.length + 1], [0]);
  return errors.flatMap((error) => {
    const line = (error.line ?? 0) - 1;
    const content = lines[line];
    if (content === undefined) return [];
    const start = starts[line] ?? 0;
    const end = start + content.trimEnd().length;
    const from = Math.min(start + Math.max(0, (error.column ?? 1) - 1), Math.max(start, end - 1));
    const message = error.suggestion ? `${error.message} (${error.suggestion}?)` : error.message;
    return [{ from, to: Math.max(from, end), severity, message }];
  });
}

/** Return the tests that refuse a policy. */
export function refusing(tests: readonly PolicyTest[]): PolicyTest[] {
  return tests.filter((test) => test.outcome === 'failed' || test.outcome === 'wrong');
}

/** What a user who applies a plan has to agree to. */
export interface Consents {
  disconnect: boolean;
  /** What becomes of endpoints whose tenants have not consented; '' is not decided. */
  unconsented: '' | 'hold' | 'count';
}

/** Return whether a plan may be applied with these consents. */
export function agreed(plan: PolicyPlan, given: Consents): boolean {
  const cut = plan.disconnects.length > 0 && !given.disconnect;
  const waits = plan.unconsented.length > 0 && given.unconsented === '';
  return !cut && !waits && refusing(plan.tests).length === 0;
}

export type PolicyView = 'now' | 'plan' | 'history';

export const POLICY_VIEWS: readonly PolicyView[] = ['now', 'plan', 'history'];

/** Return the view that an address names, and the revisions to compare. */
export function readPolicy(query: URLSearchParams): { view: PolicyView; before: number | null; after: number | null } {
  const number = (name: string) => {
    const text = query.get(name) ?? '';
    return /^\d{1,15}$/.test(text) ? Number(text) : null;
  };
  return {
    view: POLICY_VIEWS.find((one) => one === query.get('view')) ?? 'now',
    before: number('before'),
    after: number('after'),
  };
}
