/** The colours of round trips: perceptually even steps on a straight line in OKLab (Ottosson 2020), from one millisecond
    to 300 by their logarithm. Lightness alone tells them apart. Pure. */

const LEAST = 1;
const MOST = 300;
const STEPS = 64;

/** Round trips in milliseconds to explain the colours by. */
export const SAMPLES = [1, 3, 10, 30, 100, 300] as const;

type Lab = readonly [number, number, number];

/** The colours of the least and the greatest round trip: what is slow stands out from the page. */
const ENDS: Record<'light' | 'dark', readonly [Lab, Lab]> = {
  light: [
    [0.95, -0.0104, 0.0591],
    [0.36, 0, -0.12],
  ],
  dark: [
    [0.27, 0.0171, -0.047],
    [0.88, -0.0208, 0.118],
  ],
};

export interface Colour {
  /** As CSS has them. */
  ground: string;
  ink: '#000' | '#fff';
}

/** Return the place of a round trip on the scale, from 0 to 1. */
export function placeOf(ms: number): number {
  const place = Math.log(ms / LEAST) / Math.log(MOST / LEAST);
  return Math.max(0, Math.min(1, place)); // 0 ms is at -Infinity
}

/** Return the linear red, green and blue (0 to 1) of a place on a scheme's scale. */
export function linear(place: number, dark: boolean): Lab {
  const [from, to] = ENDS[dark ? 'dark' : 'light'];
  const between = (index: 0 | 1 | 2) => from[index] + (to[index] - from[index]) * place;
  const [light, a, b] = [between(0), between(1), between(2)];
  const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (light - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

/** Return the relative luminance of a colour (WCAG 2.2). */
export function luminance([red, green, blue]: Lab): number {
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function made(place: number, dark: boolean): Colour {
  const colour = linear(place, dark);
  const byte = (value: number) =>
    Math.round(255 * (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055));
  const bright = luminance(colour) + 0.05;
  return { ground: `rgb(${colour.map(byte).join(', ')})`, ink: bright / 0.05 >= 1.05 / bright ? '#000' : '#fff' };
}

const scaleOf = (dark: boolean) => Array.from({ length: STEPS }, (_, step) => made(step / (STEPS - 1), dark));
const SCALES = { light: scaleOf(false), dark: scaleOf(true) };
const NOTHING: Colour = { ground: 'transparent', ink: '#000' };

/** Return the colour of a round trip, and that of a text on it. */
export function colourOf(ms: number, dark: boolean): Colour {
  return SCALES[dark ? 'dark' : 'light'][Math.round(placeOf(ms) * (STEPS - 1))] ?? NOTHING;
}
