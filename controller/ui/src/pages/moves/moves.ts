/** Moves: states, steps and figures. Pure. */

import type { Schemas } from '../../api/client';
import type { Tone } from '../../components/Badge.svelte';

export type Move = Schemas['Move'];
export type MoveInFull = Schemas['MoveInFull'];
export type MoveStep = Schemas['MoveStep'];
export type StepName = Schemas['MoveStepName'];
export type Phase = Schemas['MovePhase'];
export type ScheduledMove = Schemas['ScheduledMove'];
export type MoveDecision = Schemas['MoveDecision'];

export const PHASES: readonly Phase[] = ['waiting', 'moving', 'undoing', 'done', 'undone'];

export const PHASE_TONES: Record<Phase, Tone> = {
  waiting: 'quiet',
  moving: 'thread',
  undoing: 'warn',
  done: 'good',
  undone: 'bad',
};

export const SCHEDULE_TONES: Record<ScheduledMove['state'], Tone> = {
  waiting: 'thread',
  begun: 'good',
  refused: 'bad',
  missed: 'bad',
  cancelled: 'quiet',
};

export const COURSE_TONES: Record<MoveDecision['course'], Tone> = { move: 'good', synthesise: 'warn', stay: 'quiet' };

const MOVE: readonly StepName[] = [
  'authorise',
  'connect',
  'reserve',
  'prepare',
  'disk',
  'memory',
  'switchover',
  'activate',
  'join',
  'leave',
  'discard',
];
const COPY: readonly StepName[] = ['authorise', 'prepare', 'disk', 'memory'];
const ANEW: readonly StepName[] = ['authorise', 'connect', 'reserve', 'initiate', 'leave', 'discard'];

const BEFORE_SWITCHOVER: readonly StepName[] = [
  'authorise',
  'connect',
  'reserve',
  'initiate',
  'prepare',
  'disk',
  'memory',
];

/** Return whether a move changes no more. */
export function over(move: Move): boolean {
  return move.state === 'done' || move.state === 'undone';
}

/** Return the steps that a move takes if nothing fails. */
export function course(move: Move): readonly StepName[] {
  return move.ahead ? COPY : move.anew ? ANEW : MOVE;
}

/** Return whether a move can be cancelled and undone: the VM runs at the source, and is not about to stop there
    (`controller/core/saga/advance.py`). */
export function revocable(move: Move): boolean {
  return move.state === 'waiting' || (move.state === 'moving' && BEFORE_SWITCHOVER.includes(move.step));
}

/** Return whether a move waits for the last users of the old address. */
export function lingers(move: Move): boolean {
  return move.state === 'moving' && move.step === 'leave';
}

/** A line of the timeline; `state` is `ahead` for a step that has not begun. */
export interface TimelineStep {
  key: string;
  step: string;
  undoing: boolean;
  state: string;
  detail: string;
  began: string | null;
  seconds: number | null;
  done: number | null;
  total: number | null;
  wire: number | null;
  stall: number | null;
  rounds: number | null;
}

/** Return all steps of a move in their order, and while it moves those that are ahead. `normal` says nothing. */
export function timeline(move: MoveInFull): TimelineStep[] {
  const begun = move.steps.filter((one) => one.step !== 'normal').map((one, index) => line(one, index, move));
  if (move.state !== 'waiting' && move.state !== 'moving') return begun;
  const last = move.steps.findLast((one) => !one.undoing)?.step;
  const steps = course(move);
  const rest = steps.slice(steps.findIndex((one) => one === last) + 1);
  return [...begun, ...rest.map((step) => nothing(step))];
}

function line(one: MoveStep, index: number, move: MoveInFull): TimelineStep {
  const running = one.state === 'running' ? move.figures[one.step] : undefined;
  const figures = { ...one.figures, ...running };
  return {
    key: `${index}`,
    step: one.step,
    undoing: one.undoing,
    state: one.state,
    detail: one.detail,
    began: one.began_at,
    seconds: one.seconds,
    done: figures.done ?? null,
    total: figures.total ?? null,
    wire: figures.wire ?? null,
    stall: figures.paused_ms ?? null,
    rounds: figures.rounds ?? null,
  };
}

function nothing(step: StepName): TimelineStep {
  const none = { began: null, seconds: null, done: null, total: null, wire: null, stall: null, rounds: null };
  return { key: `ahead-${step}`, step, undoing: false, state: 'ahead', detail: '', ...none };
}

export const STEP_TONES: Record<string, Tone> = {
  running: 'thread',
  done: 'good',
  failed: 'bad',
  refused: 'bad',
  'given up': 'bad',
  skipped: 'quiet',
  ahead: 'quiet',
};

/** Return the step that has stopped a move, if one has. */
export function failed(move: MoveInFull): MoveStep | undefined {
  if (move.state !== 'undoing' && move.state !== 'undone') return undefined;
  return move.steps.findLast((one) => !one.undoing && ['failed', 'refused', 'given up'].includes(one.state));
}

/** Return the part of a move that is done, roughly: every step counts the same. */
export function share(move: Move): number {
  if (over(move)) return 1;
  const steps = course(move);
  const index = steps.indexOf(move.step);
  if (index < 0) return 0.9;
  const { done, total } = move.figures[move.step] ?? {};
  const within = done && total ? Math.min(done / total, 1) : 0;
  return (index + within) / steps.length;
}

/** Return the bytes that a move has put on the wire, and the milliseconds for which the VM was paused. */
export function sums(move: Move): { wire: number; stall: number | null } {
  const all = Object.values(move.figures);
  const pauses = all.flatMap((one) => (typeof one.paused_ms === 'number' ? [one.paused_ms] : []));
  return {
    wire: all.reduce((sum, one) => sum + (one.wire ?? 0), 0),
    stall: pauses.length > 0 ? pauses.reduce((a, b) => a + b, 0) : null,
  };
}

export type MovesView = 'moves' | 'scheduled' | 'decisions';

export const MOVES_VIEWS: readonly MovesView[] = ['moves', 'scheduled', 'decisions'];

/** What the user looks for among moves; '' is no filter. */
export interface MoveFilters {
  state: Phase | '';
  vm: string;
  cloudlet: string;
}

/** Return the view and the filters that an address has. */
export function readMoves(query: URLSearchParams): { view: MovesView; filters: MoveFilters } {
  const text = (name: string) => (query.get(name) ?? '').trim().slice(0, 63);
  return {
    view: MOVES_VIEWS.find((one) => one === query.get('view')) ?? 'moves',
    filters: {
      state: PHASES.find((one) => one === query.get('state')) ?? '',
      vm: text('vm'),
      cloudlet: text('cloudlet'),
    },
  };
}
