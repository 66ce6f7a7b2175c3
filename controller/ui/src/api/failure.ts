/** Errors of the API (problem details, RFC 9457) as a page shows them. Pure. */

export interface FieldError {
  field: string;
  message: string;
  suggestion?: string | null;
  /** The place in a policy's or inventory's file. */
  line?: number | null;
  column?: number | null;
}

/** What kind of remedy an error has; the texts are in `components/en.ts`. */
export type Remedy =
  'sign-in' | 'role' | 'gone' | 'conflict' | 'reload' | 'value' | 'slower' | 'servers' | 'wait' | 'log';

/** An answer that is an error; status 0 if there was no answer. */
export class Failure extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly errors: readonly FieldError[] = [],
    readonly instance = '',
    /** What another user has changed meanwhile, in the form of `diff -u`. */
    readonly diff = '',
  ) {
    super(message);
  }

  get away(): boolean {
    return this.status === 0;
  }

  get remedy(): Remedy {
    return remedies[this.status] ?? (this.status >= 500 ? 'log' : 'value');
  }
}

const remedies: Record<number, Remedy> = {
  0: 'wait',
  401: 'sign-in',
  403: 'role',
  404: 'gone',
  409: 'conflict',
  412: 'reload',
  429: 'slower',
  502: 'servers',
  503: 'wait',
};

/** Return the failure that a body describes; any body will do. */
export function readProblem(status: number, body: unknown): Failure {
  const said = isObject(body) ? body : {};
  const errors = Array.isArray(said.errors) ? said.errors.filter(isFieldError) : [];
  return new Failure(
    status,
    text(said.detail) || text(said.title) || `HTTP ${status}`,
    errors,
    text(said.instance),
    text(said.diff),
  );
}

/** Return any thrown value as a failure. */
export function asFailure(error: unknown): Failure {
  return error instanceof Failure ? error : new Failure(-1, error instanceof Error ? error.message : String(error));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isFieldError(value: unknown): value is FieldError {
  return isObject(value) && typeof value.field === 'string' && typeof value.message === 'string';
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
