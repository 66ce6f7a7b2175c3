/** Paths of pages, and their parameters. Pure. */

export type Parameters = Readonly<Record<string, string>>;

/** Return the parameters if a path fits a pattern like `/pools/:name`, else null. */
export function fit(pattern: string, path: string): Parameters | null {
  const wanted = parts(pattern);
  const given = parts(path);
  if (wanted.length !== given.length) return null;
  const found: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = decoded(given[index] ?? '');
    if (value === null) return null;
    if (part.startsWith(':')) found[part.slice(1)] = value;
    else if (part !== value) return null;
  }
  return found;
}

/** Return the first entry whose path fits, with the parameters; null if none does. */
export function find<T extends { path: string }>(entries: readonly T[], path: string): [T, Parameters] | null {
  for (const entry of entries) {
    const found = fit(entry.path, path);
    if (found) return [entry, found];
  }
  return null;
}

/** Return the path with its parameters filled in, each as one segment whatever it contains. */
export function fill(pattern: string, values: Parameters): string {
  return pattern.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
}

/** Return a query without empty values, with its question mark; empty if there is nothing to say. */
export function query(values: Readonly<Record<string, string | undefined>>): string {
  const said = Object.entries(values).filter((entry): entry is [string, string] => !!entry[1]);
  return said.length ? `?${new URLSearchParams(said).toString()}` : '';
}

/** Return a path of this site, or `/` for anything that a browser would take for another site's. */
export function own(path: string | null): string {
  return path !== null && /^\/(?![/\\])[^\\\s]*$/.test(path) ? path : '/';
}

function parts(path: string): string[] {
  return path.split('/').filter((part) => part !== '');
}

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
