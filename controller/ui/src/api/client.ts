/** The REST API, with the types of its description. */

import createClient from 'openapi-fetch';
import type { components, paths } from '$openapi';
import { Failure, readProblem } from './failure';

export type Schemas = components['schemas'];

/** Options of a request: a page that refreshes itself is not its user's act (`controller/server/ui.py`). */
export interface Asking {
  signal?: AbortSignal;
  headers?: Record<string, string>;
  [option: string]: unknown;
}

export const UNATTENDED = { 'Weft-Unattended': '1' };

export const api = createClient<paths>({ baseUrl: location.origin, credentials: 'same-origin' });

let whenSignedOut: () => void = () => undefined;

/** Have a function called when an answer says that there is no session (any longer). */
export function onSignedOut(call: () => void): void {
  whenSignedOut = call;
}

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** Return the data of an answer. Throws Failure, also if the controller cannot be reached. */
export async function data<T>(answer: Promise<Answer<T>>): Promise<T> {
  let found: Answer<T>;
  try {
    found = await answer;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Failure(0, error instanceof Error ? error.message : String(error));
  }
  if (found.response.ok) return found.data as T;
  if (found.response.status === 401) whenSignedOut();
  throw readProblem(found.response.status, found.error);
}
