/** Numbers, times and durations as people read them. Pure. */

import type { Language } from './language.svelte';

/** Return a count with the language's separators. */
export function count(value: number, language: Language): string {
  return new Intl.NumberFormat(language).format(value);
}

/** Return milliseconds with a unit, in three digits or so: "61 ms", "1.24 s". */
export function duration(ms: number, language: Language): string {
  const digits = (most: number) => new Intl.NumberFormat(language, { maximumFractionDigits: most });
  if (ms < 10) return `${digits(1).format(ms)} ms`;
  if (ms < 1000) return `${digits(0).format(ms)} ms`;
  return `${digits(2).format(ms / 1000)} s`;
}

/** Return the time of day here, with the date (ISO 8601, which nobody misreads) if it is another day than `now`. */
export function moment(iso: string, now = new Date()): string {
  const at = new Date(iso);
  const two = (value: number) => String(value).padStart(2, '0');
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':');
  if (at.toDateString() === now.toDateString()) return time;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

/** Return how long ago a moment is, or how far ahead, in its greatest unit. */
export function ago(iso: string, language: Language, now: number): string {
  const seconds = (new Date(iso).getTime() - now) / 1000;
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' });
  const size = Math.abs(seconds);
  if (size < 60) return format.format(Math.round(seconds), 'second');
  if (size < 3600) return format.format(Math.round(seconds / 60), 'minute');
  if (size < 86_400) return format.format(Math.round(seconds / 3600), 'hour');
  return format.format(Math.round(seconds / 86_400), 'day');
}

/** Return seconds as a clock: "0:59", "12:05", "1:00:00"; never less than zero. */
export function clock(seconds: number): string {
  const left = Math.max(0, Math.ceil(seconds));
  const [hours, minutes, rest] = [Math.floor(left / 3600), Math.floor((left % 3600) / 60), left % 60];
  const two = (value: number) => String(value).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}
