/** Who is signed in. */

import { api, data, onSignedOut, type Schemas } from '../api/client';
import { asFailure, Failure, readProblem } from '../api/failure';
import { live } from '../live/live.svelte';

export type Whoami = Schemas['Whoami'];
export type Role = Schemas['Role'];

class Session {
  /** `undefined`: not known yet; `null`: nobody. */
  user = $state.raw<Whoami | null | undefined>();
  /** Whether a session ended by itself, so that the sign-in says so. */
  ended = $state(false);
  /** Why it is not known whether somebody is signed in. */
  failure = $state.raw<Failure | undefined>();

  constructor() {
    onSignedOut(() => this.#out(this.user !== null && this.user !== undefined));
  }

  /** Ask the controller who this is. */
  async look(): Promise<void> {
    this.failure = undefined;
    try {
      this.#in(await data(api.GET('/api/v1/whoami')));
    } catch (error) {
      const failure = asFailure(error);
      if (failure.status !== 401) this.failure = failure;
    }
  }

  /** Trade a token for a session. Throws Failure. */
  async signIn(token: string): Promise<void> {
    this.#in((await send('POST', { token })) as Whoami);
  }

  /** End the session. */
  async signOut(): Promise<void> {
    try {
      await send('DELETE');
    } catch (error) {
      if (asFailure(error).status !== 401) throw error;
    }
    this.#out(false);
  }

  #in(user: Whoami): void {
    this.user = user;
    this.ended = false;
    if (user.role === 'tenant') live.stop();
    else live.start(() => this.#out(true));
  }

  #out(ended: boolean): void {
    live.stop();
    this.ended = ended;
    this.user = null;
  }
}

async function send(method: string, body?: object): Promise<unknown> {
  let answer: Response;
  try {
    answer = await fetch('/ui/session', {
      method,
      headers: body ? { 'Content-Type': 'application/json' } : {},
      body: body ? JSON.stringify(body) : null,
    });
  } catch (error) {
    throw new Failure(0, String(error));
  }
  const said: unknown = answer.status === 204 ? null : await answer.json().catch(() => null);
  if (!answer.ok) throw readProblem(answer.status, said);
  return said;
}

export const session = new Session();
