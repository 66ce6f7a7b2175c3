/** Static hosts in a text that is to be imported: CSV as for `weft address import`, or `host` blocks of ISC dhcpd. Pure. */

import { Failure } from '../../api/failure';

export interface NewHost {
  name: string;
  address: string;
  mac?: string;
}

/** `columns`: the first line does not name them; `values`: a line has too few or too many; `block`: a host without just
    one fixed address; `empty`: no hosts; `many`: more than the API takes at once. */
export type WrongKind = 'columns' | 'values' | 'block' | 'empty' | 'many';

export interface Wrong {
  kind: WrongKind;
  line: number;
  /** What is there. */
  said: string;
}

export interface Imported {
  hosts: NewHost[];
  /** The line of each host, from 1. */
  lines: number[];
  wrong: Wrong[];
}

const COLUMNS = ['address', 'name', 'mac'];

/** The most hosts in one request. */
export const MOST = 5000;

/** Return the hosts of a text, and what is wrong with it. */
export function imported(text: string): Imported {
  const found = /\bhost\s+[^\s{]+\s*\{/.test(text) ? ofDhcpd(text) : ofTable(text);
  if (found.wrong.length > 0) return found;
  if (found.hosts.length === 0) found.wrong.push({ kind: 'empty', line: 1, said: '' });
  if (found.hosts.length > MOST) found.wrong.push({ kind: 'many', line: 1, said: String(found.hosts.length) });
  return found;
}

function ofTable(text: string): Imported {
  const found: Imported = { hosts: [], lines: [], wrong: [] };
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/);
  const first = lines.findIndex((line) => line.trim() !== '');
  if (first < 0) return found;
  const head = lines[first] ?? '';
  const separator = [';', '\t'].find((one) => head.includes(one)) ?? ',';
  const columns = fields(head, separator).map((name) => name.toLowerCase());
  const unknown = columns.some((name) => !COLUMNS.includes(name)) || new Set(columns).size < columns.length;
  if (unknown || !columns.includes('address') || !columns.includes('name')) {
    found.wrong.push({ kind: 'columns', line: first + 1, said: head.trim().slice(0, 80) });
    return found;
  }
  for (const [index, line] of lines.entries()) {
    if (index <= first || line.trim() === '') continue;
    const values = fields(line, separator);
    const row = Object.fromEntries(columns.map((name, column) => [name, values[column] ?? '']));
    if (values.length > columns.length || !row.address || !row.name) {
      found.wrong.push({ kind: 'values', line: index + 1, said: line.trim().slice(0, 80) });
      continue;
    }
    found.hosts.push({ name: row.name, address: row.address, ...(row.mac ? { mac: row.mac } : {}) });
    found.lines.push(index + 1);
  }
  return found;
}

/** Return the values of a line; one in quotes may contain the separator, and a quote twice for one. */
function fields(line: string, separator: string): string[] {
  const found: string[] = [];
  let value = '';
  let quoted = false;
  for (let index = 0; index < line.length; index += 1) {
    const sign = line[index] ?? '';
    if (sign === '"' && quoted && line[index + 1] === '"') {
      value += sign;
      index += 1;
    } else if (sign === '"') {
      quoted = !quoted;
    } else if (sign === separator && !quoted) {
      found.push(value.trim());
      value = '';
    } else {
      value += sign;
    }
  }
  return [...found, value.trim()];
}

/** Host names do not differ by case, and dhcpd's often have capitals. */
function ofDhcpd(text: string): Imported {
  const found: Imported = { hosts: [], lines: [], wrong: [] };
  const bare = text.replace(/#[^\n]*/g, '');
  let [line, counted] = [1, 0];
  for (const block of bare.matchAll(/\bhost\s+([^\s{]+)\s*\{([^}]*)\}/g)) {
    for (; counted < block.index; counted += 1) if (bare[counted] === '\n') line += 1;
    const [, name = '', body = ''] = block;
    const addresses = /\bfixed-address\s+([^;]*);/.exec(body)?.[1]?.trim() ?? '';
    const mac = /\bhardware\s+ethernet\s+([^;\s]+)\s*;/.exec(body)?.[1];
    if (!addresses || addresses.includes(',')) {
      found.wrong.push({ kind: 'block', line, said: name.slice(0, 80) });
      continue;
    }
    const plain = name.replaceAll('"', '').toLowerCase();
    found.hosts.push({ name: plain, address: addresses, ...(mac ? { mac } : {}) });
    found.lines.push(line);
  }
  return found;
}

/** Return a refusal with the line of each host that it names. */
export function located(failure: Failure, lines: readonly number[]): Failure {
  const errors = failure.errors.map((error) => {
    const index = /\bhosts\.(\d{1,6})\b/.exec(error.field)?.[1];
    const line = index === undefined ? undefined : lines[Number(index)];
    return line === undefined ? error : { ...error, line };
  });
  return new Failure(failure.status, failure.message, errors, failure.instance, failure.diff);
}
