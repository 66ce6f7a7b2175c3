/** The address plan as a strip: a cell for each pair, its even address above its odd one. A whole strip is six paths,
    whatever the number of cells. Pure. */

import { markOf, type Mark, type Pair } from './plan';

/** Pixels from cell to cell, and of a cell. */
const ACROSS = 12;
const DOWN = 22;
const WIDE = 10;
const HIGH = 19;
/** Pixels of an address's sign, and from the even one's to the odd one's. */
const SIGN = 7;
const BELOW = 9;
/** Cells in a row stand in groups of this many: an agent's blocks have as many pairs. */
const GROUP = 8;
/** Rows of cells; more pairs share cells. */
const ROWS = 24;

/** How pairs lie in a strip of some width. */
export interface Layout {
  columns: number;
  rows: number;
  cells: number;
  /** Pairs that share a cell. */
  per: number;
  width: number;
  height: number;
}

/** Return the layout of a plan in so many pixels: no more cells than fit into some rows. */
export function layout(capacity: number, pixels: number): Layout {
  const columns = Math.max(GROUP, Math.floor((pixels + ACROSS - WIDE) / ACROSS / GROUP) * GROUP);
  let per = 1;
  while (Math.ceil(capacity / per) > columns * ROWS) per *= 2;
  const cells = Math.max(1, Math.ceil(capacity / per));
  const rows = Math.ceil(cells / columns);
  return { columns, rows, cells, per, width: columns * ACROSS, height: rows * DOWN };
}

/** A path of the strip: the frames of all cells, or one kind of mark. */
export type Layer = 'cell' | Mark;

/** Return the paths of a strip. A cell of several pairs shows all that is among them. */
export function paths(way: Layout, pairs: readonly Pair[]): Record<Layer, string> {
  const found: Record<Layer, string[]> = {
    cell: [],
    md: [],
    vm: [],
    static: [],
    declined: [],
    reserved: [],
    policy: [],
  };
  for (let cell = 0; cell < way.cells; cell += 1) found.cell.push(frame(way, cell, 0));
  const drawn = new Set<string>();
  const draw = (layer: Layer, cell: number, odd: 0 | 1, shape: () => string): void => {
    const name = `${layer} ${cell} ${odd}`;
    if (drawn.has(name)) return;
    drawn.add(name);
    found[layer].push(shape());
  };
  for (const pair of pairs) {
    const cell = Math.floor(pair.number / way.per);
    for (const odd of [0, 1] as const) {
      const mark = markOf(pair.halves[odd], odd);
      if (mark) draw(mark, cell, odd, () => sign(way, cell, odd, mark));
    }
    if (pair.reservation) draw('reserved', cell, 0, () => frame(way, cell, 0.5));
    if (pair.byPolicy) draw('policy', cell, 0, () => frame(way, cell, 0.5));
  }
  const joined = Object.entries(found).map(([layer, parts]) => [layer, parts.join('')]);
  return Object.fromEntries(joined) as Record<Layer, string>;
}

/** Return the number of the first pair of the cell at a point; null if there is none. */
export function pairAt(way: Layout, x: number, y: number): number | null {
  const [column, row] = [Math.floor(x / ACROSS), Math.floor(y / DOWN)];
  if (column < 0 || column >= way.columns || row < 0) return null;
  const cell = row * way.columns + column;
  return cell < way.cells ? cell * way.per : null;
}

/** Return the sign of a mark alone, in a square of 7 pixels, for the legend. */
export function signOf(mark: Mark): string {
  return mark === 'reserved' || mark === 'policy' ? 'M1 1h5v5h-5z' : shape(mark, 0, 0);
}

/** Return where the line of a cell's frame begins: half a pixel in, so that it fills whole ones. */
function corner(way: Layout, cell: number): [number, number] {
  return [(cell % way.columns) * ACROSS + 0.5, Math.floor(cell / way.columns) * DOWN + 0.5];
}

function frame(way: Layout, cell: number, inset: number): string {
  const [x, y] = corner(way, cell);
  const [wide, high] = [WIDE - 2 * inset, HIGH - 2 * inset];
  return `M${x + inset} ${y + inset}h${wide}v${high}h-${wide}z`;
}

function sign(way: Layout, cell: number, odd: 0 | 1, mark: Mark): string {
  const [x, y] = corner(way, cell);
  const inset = (WIDE - SIGN) / 2;
  return shape(mark, x + inset, y + inset + odd * BELOW);
}

/** Return a square for a device, a disc for a VM, an hourglass for a static host, a triangle for a declined address. */
function shape(mark: Mark, x: number, y: number): string {
  switch (mark) {
    case 'vm':
      return `M${x} ${y + SIGN / 2}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z`;
    case 'static':
      return `M${x} ${y}h7l-7 7h7z`;
    case 'declined':
      return `M${x} ${y + SIGN}l3.5 -7l3.5 7z`;
    default:
      return `M${x} ${y}h7v7h-7z`;
  }
}
