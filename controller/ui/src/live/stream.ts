/** One connection to the stream of events (server-sent events; WHATWG HTML, section 9.2). */

import { createParser } from 'eventsource-parser';
import type { Schemas } from '../api/client';

export type RegionEvent = Schemas['Event'];

/** How a connection ended: the session is over, or the controller is away. */
export type End = 'signed-out' | 'forbidden' | 'away';

/** Milliseconds without a byte after which the controller counts as away: it sends a comment every 15 s. */
export const SILENCE = 40_000;

const PAUSES = [500, 1000, 2000, 4000, 8000];

/** Return the milliseconds to wait before the next attempt; `chance` (0 to 1) spreads pages that were cut off at once. */
export function pause(attempt: number, chance: number): number {
  const most = PAUSES[Math.min(attempt, PAUSES.length - 1)] ?? 8000;
  return most / 2 + (most / 2) * chance;
}

interface Following<T> {
  /** The stream's address; the region's events without one. */
  path?: string;
  /** The key by which its data are known. */
  key?: string & keyof T;
  /** The id of the last event that was seen; null to begin with the next one. */
  after: number | null;
  signal: AbortSignal;
  opened: () => void;
  heard: (event: T) => void;
  fetch?: typeof fetch;
  silence?: number;
}

/** Follow a stream until it ends, and return how it ended. Never throws. */
export async function follow<T = RegionEvent>(options: Following<T>): Promise<End> {
  const silence = new AbortController();
  const signal = AbortSignal.any([options.signal, silence.signal]);
  const headers: Record<string, string> = { Accept: 'text/event-stream', 'Weft-Unattended': '1' };
  if (options.after !== null) headers['Last-Event-ID'] = String(options.after);
  const limit = options.silence ?? SILENCE;
  let timer = setTimeout(() => silence.abort(), limit);
  try {
    const answer = await (options.fetch ?? fetch)(options.path ?? '/api/v1/events', {
      headers,
      signal,
      cache: 'no-store',
    });
    if (answer.status === 401) return 'signed-out';
    if (answer.status === 403) return 'forbidden';
    if (!answer.ok || !answer.body) return 'away';
    options.opened();
    const parser = createParser({
      onEvent: (message) => {
        const event = read<T>(message.data, options.key ?? 'id');
        if (event) options.heard(event);
      },
    });
    const decoder = new TextDecoder();
    const reader = answer.body.getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return 'away';
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), limit);
      parser.feed(decoder.decode(value, { stream: true }));
    }
  } catch {
    return 'away';
  } finally {
    clearTimeout(timer);
  }
}

function read<T>(data: string, key: string): T | null {
  try {
    const found: unknown = JSON.parse(data);
    return typeof found === 'object' && found !== null && key in found ? (found as T) : null;
  } catch {
    return null;
  }
}
