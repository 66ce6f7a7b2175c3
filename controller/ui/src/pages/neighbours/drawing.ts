/** Draws the part of the heat map that can be seen on a canvas. States differ by shape as well as by colour. */

import { inSight, short, type Geometry, type Spot } from './grid';
import type { Cell } from './matrix';
import { colourOf } from './scale';

/** Colours and font of the page. */
export interface Ink {
  text: string;
  quiet: string;
  line: string;
  font: string;
}

export interface Scene {
  rows: readonly string[];
  columns: readonly string[];
  cell: (from: string, to: string) => Cell;
  /** A round trip as a short figure. */
  figure: (ms: number) => string;
  geometry: Geometry;
  scrolled: { left: number; top: number };
  /** Of the canvas, in CSS's pixels, and how many of the screen's are in one. */
  size: { width: number; height: number };
  ratio: number;
  dark: boolean;
  ink: Ink;
  /** Cells with a frame: the focused one, that below the pointer, and the open one. */
  framed: readonly (Spot | null)[];
}

export type Brush = Pick<
  CanvasRenderingContext2D,
  | 'beginPath'
  | 'clearRect'
  | 'clip'
  | 'fill'
  | 'fillRect'
  | 'fillStyle'
  | 'fillText'
  | 'font'
  | 'lineTo'
  | 'lineWidth'
  | 'moveTo'
  | 'rect'
  | 'restore'
  | 'rotate'
  | 'save'
  | 'setTransform'
  | 'stroke'
  | 'strokeRect'
  | 'strokeStyle'
  | 'textAlign'
  | 'textBaseline'
  | 'translate'
>;

/** The width of a character of the fixed-width font, in parts of its size. */
const CHARACTER = 0.62;

/** Draw a scene. What it costs depends on the size of the canvas, and not on that of the region. */
export function draw(brush: Brush, scene: Scene): void {
  const { rows, columns, geometry, scrolled, size, ratio } = scene;
  const { cell, head } = geometry;
  const [top, bottom] = inSight(scrolled.top, size.height - head.height, cell.height, rows.length);
  const [left, right] = inSight(scrolled.left, size.width - head.width, cell.width, columns.length);
  const x = (column: number) => head.width + column * cell.width - scrolled.left;
  const y = (row: number) => head.height + row * cell.height - scrolled.top;
  brush.setTransform(ratio, 0, 0, ratio, 0, 0);
  brush.clearRect(0, 0, size.width, size.height);

  clipped(brush, head.width, head.height, size.width - head.width, size.height - head.height, () => {
    for (let row = top; row < bottom; row += 1) {
      for (let column = left; column < right; column += 1) {
        const found = scene.cell(rows[row] ?? '', columns[column] ?? '');
        if (found.kind !== 'none') drawCell(brush, scene, found, x(column), y(row));
      }
    }
    for (const spot of scene.framed) {
      if (!spot) continue;
      brush.strokeStyle = scene.ink.text;
      brush.lineWidth = 2;
      brush.strokeRect(x(spot.column) - 1, y(spot.row) - 1, cell.width + 1, cell.height + 1);
    }
  });

  const most = (pixels: number, font: number) => Math.floor((pixels - 10) / (font * CHARACTER));
  const font = Math.min(12, cell.height);
  brush.font = `${font}px ${scene.ink.font}`;
  brush.fillStyle = scene.ink.quiet;
  brush.textBaseline = 'middle';
  clipped(brush, 0, head.height, head.width, size.height - head.height, () => {
    brush.textAlign = 'right';
    for (let row = top; row < bottom; row += 1)
      brush.fillText(short(rows[row] ?? '', most(head.width, font)), head.width - 6, y(row) + cell.height / 2);
  });
  clipped(brush, head.width, 0, size.width - head.width, head.height, () => {
    brush.textAlign = 'left';
    for (let column = left; column < right; column += 1) {
      brush.save();
      brush.translate(x(column) + cell.width / 2, head.height - 6);
      brush.rotate(-Math.PI / 2);
      brush.fillText(short(columns[column] ?? '', most(head.height, font)), 0, 0);
      brush.restore();
    }
  });
}

function drawCell(brush: Brush, scene: Scene, found: Cell, x: number, y: number): void {
  const { geometry, dark, ink } = scene;
  const [width, height] = [geometry.cell.width - 1, geometry.cell.height - 1];
  const roomy = width > 30;
  if (found.kind === 'self') {
    brush.fillStyle = ink.line; // a dot: a whole cell would look like a round trip
    brush.fillRect(x + width / 2 - 1.5, y + height / 2 - 1.5, 3, 3);
  } else if (found.kind === 'stale') {
    brush.strokeStyle = ink.quiet;
    brush.lineWidth = 1;
    brush.beginPath(); // hatched
    for (let at = -height; at < width; at += 6) {
      const [from, to] = [Math.max(0, at), Math.min(width, at + height)];
      brush.moveTo(x + from, y + height - (from - at));
      brush.lineTo(x + to, y + height - (to - at));
    }
    brush.stroke();
  } else if (found.kind === 'unreachable') {
    const half = Math.min(width, height) / 2 - 2;
    const [middle, centre] = [x + width / 2, y + height / 2];
    brush.strokeStyle = ink.text;
    brush.lineWidth = roomy ? 2 : 1.5;
    brush.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
    brush.beginPath(); // a cross
    brush.moveTo(middle - half, centre - half);
    brush.lineTo(middle + half, centre + half);
    brush.moveTo(middle + half, centre - half);
    brush.lineTo(middle - half, centre + half);
    brush.stroke();
  } else if (found.ms !== null) {
    const colour = colourOf(found.ms, dark);
    brush.fillStyle = colour.ground;
    brush.fillRect(x, y, width, height);
    brush.fillStyle = colour.ink;
    if (roomy) {
      brush.font = `11px ${ink.font}`;
      brush.textAlign = 'center';
      brush.textBaseline = 'middle';
      brush.fillText(scene.figure(found.ms), x + width / 2, y + height / 2 + 1);
    }
    const size = roomy ? 7 : 5;
    if (found.kind === 'lossy') {
      brush.beginPath(); // a corner
      brush.moveTo(x + width - size, y);
      brush.lineTo(x + width, y);
      brush.lineTo(x + width, y + size);
      brush.fill();
    } else if (found.kind === 'far') {
      brush.fillRect(x + 2, y + height - 3, width - 4, 2); // a bar
    }
  }
}

function clipped(brush: Brush, x: number, y: number, width: number, height: number, within: () => void): void {
  brush.save();
  brush.beginPath();
  brush.rect(x, y, Math.max(0, width), Math.max(0, height));
  brush.clip();
  within();
  brush.restore();
}
