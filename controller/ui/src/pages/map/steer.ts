/** The way of the focus over a plane. Pure. */

export interface Point {
  x: number;
  y: number;
}

const DIRECTIONS: Readonly<Record<string, Point>> = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
};

/** Return the index of the point that an arrow key leads to: the nearest one that lies within 60 degrees of its direction,
    where what lies aside counts twice. Null for another key, or if there is none. */
export function nearest(points: readonly Point[], from: number, key: string): number | null {
  const direction = DIRECTIONS[key];
  const start = points[from];
  if (!direction || !start) return null;
  let [best, least]: [number | null, number] = [null, Infinity];
  for (const [index, point] of points.entries()) {
    const [x, y] = [point.x - start.x, point.y - start.y];
    const ahead = x * direction.x + y * direction.y;
    const aside = Math.abs(x * direction.y) + Math.abs(y * direction.x);
    if (index === from || ahead <= 0 || aside > ahead * 1.7321) continue;
    if (ahead + 2 * aside < least) [best, least] = [index, ahead + 2 * aside];
  }
  return best;
}
