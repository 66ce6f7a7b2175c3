/** Scales, ticks and paths of a line chart over time. Pure. */

/** A measurement: `value` within `low` and `high`, null where there is none; `lost` is the part that is missing (0..1). */
export interface ChartPoint {
  /** Milliseconds since 1970. */
  at: number;
  value: number | null;
  low: number | null;
  high: number | null;
  lost: number;
}

type Scale = (value: number) => number;

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;

/** Return the end of an axis from 0 that has all values, and the distance of its ticks: 1, 2 or 5 times a power of ten. */
export function axis(most: number, ticks = 4): { top: number; step: number } {
  if (!(most > 0)) return { top: 1, step: 0.5 };
  const rough = most / ticks;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10);
  return { top: Math.ceil(most / step - 1e-9) * step, step };
}

/** Return moments of a time at which clocks here show round figures, at most `most` of them, and their distance in
    milliseconds. */
export function timeTicks(from: number, to: number, most: number): { at: number[]; step: number } {
  const minutes = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720].map((one) => one * MINUTE);
  const days = [1, 2, 7, 14, 30, 61, 91, 182].map((one) => one * DAY);
  const step = [...minutes, ...days].find((one) => (to - from) / one <= most) ?? 365 * DAY;
  const first = new Date(from);
  const at: number[] = [];
  for (let turn = 0; turn < 4000; turn += 1) {
    const tick = new Date(first.getFullYear(), first.getMonth(), first.getDate());
    if (step >= DAY)
      tick.setDate(tick.getDate() + turn * (step / DAY)); // days have 23 to 25 hours
    else tick.setTime(tick.getTime() + turn * step);
    if (tick.getTime() > to) break;
    if (tick.getTime() >= from) at.push(tick.getTime());
  }
  return { at, step };
}

/** Return at most `most` points, each of several that follow one another: least, greatest, and the median of the values;
    what is lost is the average. */
export function thinned(points: readonly ChartPoint[], most: number): ChartPoint[] {
  const size = Math.ceil(points.length / most);
  if (size <= 1) return [...points];
  const groups = Array.from({ length: Math.ceil(points.length / size) }, (_, turn) =>
    points.slice(turn * size, (turn + 1) * size),
  );
  return groups.map((group) => {
    const known = (name: 'value' | 'low' | 'high') => group.map((one) => one[name]).filter((one) => one !== null);
    const values = known('value').sort((a, b) => a - b);
    return {
      at: group[Math.floor(group.length / 2)]?.at ?? 0,
      value: values[Math.floor(values.length / 2)] ?? null,
      low: values.length > 0 ? Math.min(...known('low')) : null,
      high: values.length > 0 ? Math.max(...known('high')) : null,
      lost: group.reduce((sum, one) => sum + one.lost, 0) / group.length,
    };
  });
}

/** Return the points in pieces to draw one line each: a point without a value ends a piece, and a time without points. */
export function pieces(points: readonly ChartPoint[]): ChartPoint[][] {
  const gaps = points.slice(1).map((one, index) => one.at - (points[index]?.at ?? 0));
  const usual = [...gaps].sort((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? Infinity;
  const found: ChartPoint[][] = [[]];
  let before = -Infinity;
  for (const point of points) {
    if (point.value === null || point.at - before > 3 * usual) found.push([]);
    if (point.value !== null) found.at(-1)?.push(point);
    before = point.at;
  }
  return found.filter((piece) => piece.length > 0);
}

/** Return the path of a line through the values; a single point is a short dash. */
export function linePath(piece: readonly ChartPoint[], x: Scale, y: Scale): string {
  const places = piece.map((one) => `${round(x(one.at))} ${round(y(one.value ?? 0))}`);
  return places.length === 1 ? `M${places[0]}h2` : `M${places.join('L')}`;
}

/** Return the path around the area between the least and the greatest values. */
export function bandPath(piece: readonly ChartPoint[], x: Scale, y: Scale): string {
  const side = (name: 'low' | 'high') =>
    piece.map((one) => `${round(x(one.at))} ${round(y(one[name] ?? one.value ?? 0))}`);
  return `M${[...side('high'), ...side('low').reverse()].join('L')}Z`;
}

/** Return the index of the point that is nearest to a moment; -1 if there is none. */
export function nearest(points: readonly ChartPoint[], at: number): number {
  let best = -1;
  let distance = Infinity;
  for (const [index, one] of points.entries()) {
    if (Math.abs(one.at - at) < distance) [best, distance] = [index, Math.abs(one.at - at)];
  }
  return best;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
