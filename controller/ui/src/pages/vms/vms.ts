/** VMs and containers: states, search, and the choice of a move. Pure. */

import type { Schemas } from '../../api/client';
import type { Tone } from '../../components/Badge.svelte';

export type Vm = Schemas['Vm'];
export type Endpoint = Schemas['Endpoint'];
export type Prediction = Schemas['Prediction'];

export const CONDITION_TONES: Record<Vm['condition'], Tone> = {
  running: 'good',
  paused: 'warn',
  waiting: 'thread',
  moved: 'quiet',
  stopped: 'quiet',
  gone: 'bad',
  unresponsive: 'bad',
  starting: 'thread',
  stopping: 'thread',
};

/** Return whether a machine is a container, by its driver. */
export function isContainer(vm: Vm): boolean {
  return vm.driver === 'container';
}

/** Return the machines that have all words of a search. */
export function search(all: readonly Vm[], words: string): Vm[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (vm: Vm) =>
    [vm.name, vm.device, vm.cloudlet, vm.endpoint, vm.address ?? '', vm.image, vm.driver, vm.condition]
      .join(' ')
      .toLowerCase();
  return all.filter((vm) => wanted.every((word) => text(vm).includes(word)));
}

/** Return the endpoints to which a machine may move: of other cloudlets, those that share a pool with it first. */
export function destinations(endpoints: readonly Endpoint[], vm: Vm): Endpoint[] {
  const pools = new Set(endpoints.find((one) => one.name === vm.endpoint)?.vcps ?? []);
  const near = (one: Endpoint) => (one.vcps.some((pool) => pools.has(pool)) ? 0 : 1);
  return endpoints
    .filter((one) => one.cloudlet !== vm.cloudlet)
    .sort((a, b) => near(a) - near(b) || a.name.localeCompare(b.name));
}

/** How a machine leaves: moved now or at a time, copied ahead of a move, or started anew at the other end. */
export type Way = 'move' | 'schedule' | 'ahead' | 'anew';

export const WAYS: readonly Way[] = ['move', 'schedule', 'ahead', 'anew'];

/** Return the moment that a `datetime-local` field names, as the API wants it; null if it is none, or is past. */
export function momentOf(local: string, now: number): string | null {
  const at = new Date(local);
  return Number.isNaN(at.getTime()) || at.getTime() <= now ? null : at.toISOString();
}

/** The inputs of a prediction, in the order in which they are shown, and their units. */
export const INPUTS = {
  memory: 'bytes',
  dirty_rate: 'bytes',
  disk: 'bytes',
  ratio: 'factor',
  bandwidth: 'bits',
  rtt_ms: 'ms',
  buffer_ms: 'ms',
  idle: 's',
  downtime_ms: 'ms',
} as const;

export type InputName = keyof typeof INPUTS;

/** Return the inputs that a prediction has. */
export function inputsOf(prediction: Prediction): [InputName, Prediction['estimate']['inputs'][string]][] {
  const given = prediction.estimate.inputs;
  return (Object.keys(INPUTS) as InputName[]).flatMap((name) => {
    const found = given[name];
    return found ? [[name, found] as [InputName, typeof found]] : [];
  });
}
