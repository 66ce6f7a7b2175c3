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

/** Return bytes in binary units, in three digits or so: "126 MiB". */
export function bytes(value: number, language: Language): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let left = value;
  let unit = 0;
  while (left >= 1024 && unit < units.length - 1) [left, unit] = [left / 1024, unit + 1];
  return `${short(left, language)} ${units[unit] ?? ''}`;
}

/** Return bits a second with a unit: "60 Mbit/s". */
export function bitrate(value: number, language: Language): string {
  const units = ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s'];
  let left = value;
  let unit = 0;
  while (left >= 1000 && unit < units.length - 1) [left, unit] = [left / 1000, unit + 1];
  return `${short(left, language)} ${units[unit] ?? ''}`;
}

/** Return a part of a whole: "12 %". */
export function percent(part: number, language: Language): string {
  return new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 0 }).format(part);
}

/** Return seconds as people say them: "0.5 s", "61 s", "12:05". */
export function seconds(value: number, language: Language): string {
  return value < 100 ? `${short(value, language)} s` : clock(value);
}

function short(value: number, language: Language): string {
  return new Intl.NumberFormat(language, { maximumFractionDigits: value < 10 ? 1 : 0 }).format(value);
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

/** Return a moment as the tick of an axis says it: the time of day, or the day if ticks are days apart. */
export function clockOrDay(at: number, step: number, language: Language): string {
  const form: Intl.DateTimeFormatOptions =
    step < 86_400_000
      ? { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }
      : { day: 'numeric', month: 'short', ...(step > 86_400_000 * 60 ? { year: '2-digit' } : {}) };
  return new Intl.DateTimeFormat(language, form).format(at);
}
