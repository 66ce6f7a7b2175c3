/** The grid of the heat map: which cells can be seen, which one is where, and where keys lead. Pure. */

export interface Geometry {
  /** Pixels of a cell, and of the names above and to the left of all. */
  cell: { width: number; height: number };
  head: { width: number; height: number };
}

export interface Spot {
  row: number;
  column: number;
}

/** Return the geometry of cells with numbers in them, or of small ones. */
export function geometryOf(small: boolean, narrow: boolean): Geometry {
  const cell = small ? { width: 10, height: 10 } : { width: 44, height: 24 };
  return { cell, head: narrow ? { width: 84, height: 84 } : { width: 132, height: 96 } };
}

/** Return the first cell and the one after the last that can be seen of `count`, at a position of the scroller. */
export function inSight(scrolled: number, extent: number, size: number, count: number): [number, number] {
  const first = Math.max(0, Math.floor(scrolled / size));
  return [Math.min(first, count), Math.max(0, Math.min(count, Math.ceil((scrolled + extent) / size)))];
}

/** Return the cell at a place of the whole grid; null outside of the cells. `left` and `top` are how far it is scrolled:
    the names cover what is below them. */
export function spotAt(
  place: { x: number; y: number },
  scrolled: { left: number; top: number },
  { cell, head }: Geometry,
  rows: number,
  columns: number,
): Spot | null {
  if (place.x - scrolled.left < head.width || place.y - scrolled.top < head.height) return null;
  const column = Math.floor((place.x - head.width) / cell.width);
  const row = Math.floor((place.y - head.height) / cell.height);
  return row < rows && column < columns ? { row, column } : null;
}

const PAGE = 10;

/** Return where a key leads from a cell; null if it is none of the grid's. */
export function moved(key: string, far: boolean, { row, column }: Spot, rows: number, columns: number): Spot | null {
  const steps: Record<string, [number, number]> = {
    ArrowUp: [far ? -rows : -1, 0],
    ArrowDown: [far ? rows : 1, 0],
    ArrowLeft: [0, far ? -columns : -1],
    ArrowRight: [0, far ? columns : 1],
    PageUp: [-PAGE, 0],
    PageDown: [PAGE, 0],
    Home: [far ? -rows : 0, -columns],
    End: [far ? rows : 0, columns],
  };
  const step = Object.hasOwn(steps, key) ? steps[key] : undefined;
  if (!step) return null;
  return { row: within(row + step[0], rows), column: within(column + step[1], columns) };
}

/** Return the nearest index that there is. */
function within(index: number, count: number): number {
  return Math.max(0, Math.min(count - 1, index));
}

/** Return how far to scroll so that a cell is in sight between the names and the end. */
export function scrolledTo(index: number, scrolled: number, extent: number, size: number): number {
  if (index * size < scrolled) return index * size;
  return Math.max(scrolled, (index + 1) * size - extent);
}

/** Return a name that has at most `most` characters. */
export function short(name: string, most: number): string {
  return name.length <= most ? name : `${name.slice(0, Math.max(1, most - 1))}…`;
}
