/** What can be written at a place of a policy, by its JSON schema (`policies/schema.json`). Pure. */

export interface Schema {
  $ref?: string;
  description?: string;
  type?: string | readonly string[];
  properties?: Readonly<Record<string, Schema>>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  enum?: readonly unknown[];
  const?: unknown;
  default?: unknown;
  oneOf?: readonly Schema[];
  anyOf?: readonly Schema[];
  $defs?: Readonly<Record<string, Schema>>;
}

/** A text that can be written, and what it means. */
export interface Offer {
  label: string;
  kind: 'key' | 'value';
  info: string;
}

/** A step from a schema to one inside: a key of an object, or null for an item of a list. */
export type Way = readonly (string | null)[];

/** Return the keys that an object there can have, except those that are there already. */
export function keys(root: Schema, way: Way, there: readonly string[]): Offer[] {
  const found = new Map<string, Offer>();
  for (const schema of at(root, way)) {
    for (const [name, one] of Object.entries(schema.properties ?? {})) {
      if (!there.includes(name)) found.set(name, { label: name, kind: 'key', info: info(root, one) });
    }
  }
  return [...found.values()];
}

/** Return the values that can stand there, if they are named. */
export function values(root: Schema, way: Way): Offer[] {
  const offers = at(root, way).flatMap((schema) => {
    const named = [...(schema.enum ?? []), ...(schema.const === undefined ? [] : [schema.const])];
    const bools = schema.type === 'boolean' ? [true, false] : [];
    return [...named, ...bools].map((one): Offer => ({
      label: String(one),
      kind: 'value',
      info: schema.description ?? '',
    }));
  });
  return offers.filter((one, index) => offers.findIndex((other) => other.label === one.label) === index);
}

/** Return all schemas that a place may have to fit. */
function at(root: Schema, way: Way): Schema[] {
  let here = spread(root, root);
  for (const step of way)
    here = here.flatMap((schema) => inside(schema, step)).flatMap((schema) => spread(root, schema));
  return here;
}

function inside(schema: Schema, step: string | null): Schema[] {
  if (step === null) return schema.items ? [schema.items] : [];
  const known = schema.properties?.[step];
  if (known) return [known];
  return typeof schema.additionalProperties === 'object' ? [schema.additionalProperties] : [];
}

/** Return a schema with all that it refers to, and its alternatives. */
function spread(root: Schema, schema: Schema, depth = 0): Schema[] {
  if (depth > 8) return [];
  const name = schema.$ref?.replace('#/$defs/', '');
  const meant = name === undefined ? undefined : root.$defs?.[name];
  const others = [...(meant ? [meant] : []), ...(schema.oneOf ?? []), ...(schema.anyOf ?? [])];
  return [schema, ...others.flatMap((one) => spread(root, one, depth + 1))];
}

function info(root: Schema, schema: Schema): string {
  const said = spread(root, schema).find((one) => one.description)?.description ?? '';
  return schema.default === undefined ? said : `${said} (${JSON.stringify(schema.default)})`;
}

interface Level {
  column: number;
  /** A key, or null for an item of a list. */
  step: string | null;
  /** Keys before this one in the same object. */
  before: readonly string[];
}

/** Return where a line of YAML is, by the indentation of the lines above it: its way in the document, and the keys of
    its object above it. Only block style is understood. */
export function place(lines: readonly string[], index: number): { way: Way; there: readonly string[] } {
  const levels: Level[] = [];
  for (const line of lines.slice(0, index)) {
    if (/^\s*(#|$)/.test(line)) continue;
    const { column, rest } = items(levels, line);
    const step = keyOf(rest);
    if (step !== null) levels.push({ column, before: beside(levels, column), step });
  }
  const { column } = items(levels, lines[index] ?? '');
  const there = beside(levels, column);
  return { way: levels.map((level) => level.step), there };
}

/** Return the key of a line without its indentation, or null if it has none. */
export function keyOf(rest: string): string | null {
  return /^(["']?)([\w./-]+)\1\s*:(\s|$)/.exec(rest)?.[2] ?? null;
}

/** Take the dashes of a line as levels, and return what is after them, with its column. */
function items(levels: Level[], line: string): { column: number; rest: string } {
  let rest = line.trimStart();
  let column = line.length - rest.length;
  for (let dash = /^-(\s+|$)/.exec(rest); dash; dash = /^-(\s+|$)/.exec(rest)) {
    for (let top = levels.at(-1); top; top = levels.at(-1)) {
      if (top.column < column || (top.column === column && top.step !== null)) break;
      levels.pop();
    }
    levels.push({ column, step: null, before: [] });
    column += dash[0].length;
    rest = rest.slice(dash[0].length);
  }
  return { column, rest };
}

/** Remove the levels that are not around a column, and return the keys before it in its object. */
function beside(levels: Level[], column: number): readonly string[] {
  let found: readonly string[] = [];
  for (let top = levels.at(-1); top && top.column >= column; top = levels.at(-1)) {
    levels.pop();
    if (top.column === column && top.step !== null) found = [...top.before, top.step];
  }
  return found;
}
