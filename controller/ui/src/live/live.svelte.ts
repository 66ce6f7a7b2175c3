/** What happens in the region, for all pages: one connection for all tabs of the browser, since a browser opens only six
    to one place. One tab has the connection and tells the others; when it closes, the next one goes on where it was. */

import { follow, pause, type RegionEvent } from './stream';

/** `off`: this user may not follow events. */
export type LiveState = 'connecting' | 'live' | 'away' | 'off';

type Told = { kind: 'event'; event: RegionEvent } | { kind: 'state'; state: LiveState } | { kind: 'hello' };

/** `null` stands for anything: the connection is back, and events may have been missed. */
type Listener = (event: RegionEvent | null) => void;

class Live {
  state = $state<LiveState>('off');
  #listeners = new Set<Listener>();
  #last: number | null = null;
  #stop: AbortController | null = null;
  #tabs: BroadcastChannel | null = null;
  #leads = false;
  #signedOut: () => void = () => undefined;

  /** Begin to follow, for a user who may. `signedOut` is called when the session is over. */
  start(signedOut: () => void): void {
    this.stop();
    this.#signedOut = signedOut;
    this.state = 'connecting';
    const stop = (this.#stop = new AbortController());
    const tabs = (this.#tabs = new BroadcastChannel('weft-events'));
    tabs.onmessage = ({ data }: MessageEvent<Told>) => this.#told(data);
    tabs.postMessage({ kind: 'hello' } satisfies Told);
    navigator.locks
      .request('weft-events', { signal: stop.signal }, () => this.#lead(stop.signal))
      .catch(() => undefined); // it was stopped while it waited
  }

  /** Follow no more. */
  stop(): void {
    this.#stop?.abort();
    this.#tabs?.close();
    this.#stop = this.#tabs = null;
    this.#leads = false;
    this.state = 'off';
  }

  /** Have a function called for each event, and with null after a gap. Returns how to stop. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #lead(signal: AbortSignal): Promise<void> {
    this.#leads = true;
    for (let attempt = 0; !signal.aborted;) {
      const end = await follow({
        after: this.#last,
        signal,
        opened: () => {
          attempt = 0;
          this.#turn('live');
        },
        heard: (event) => {
          this.#say({ kind: 'event', event });
          this.#hear(event);
        },
      });
      if (signal.aborted) return;
      if (end === 'signed-out') {
        this.#signedOut();
        return;
      }
      if (end === 'forbidden') {
        this.#turn('off');
        return;
      }
      this.#turn('away');
      await new Promise((resolve) => setTimeout(resolve, pause(attempt, Math.random())));
      attempt += 1;
    }
  }

  #told(told: Told): void {
    if (told.kind === 'hello') {
      if (this.#leads) this.#say({ kind: 'state', state: this.state });
    } else if (told.kind === 'event') {
      this.#hear(told.event);
    } else if (!this.#leads) {
      this.#enter(told.state);
    }
  }

  #turn(state: LiveState): void {
    this.#enter(state);
    this.#say({ kind: 'state', state });
  }

  #enter(state: LiveState): void {
    const back = state === 'live' && this.state !== 'live';
    this.state = state;
    if (back) for (const listener of this.#listeners) listener(null);
  }

  #hear(event: RegionEvent): void {
    this.#last = event.id;
    for (const listener of this.#listeners) listener(event);
  }

  #say(told: Told): void {
    this.#tabs?.postMessage(told);
  }
}

export const live = new Live();
