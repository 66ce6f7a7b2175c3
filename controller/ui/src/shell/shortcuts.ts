/** Keyboard shortcuts: single keys, and `g` with a key after it. Pure. */

export type Act = { kind: 'go'; path: string } | { kind: 'help' } | { kind: 'search' };

export interface Pressed {
  key: string;
  /** Whether the user is typing into a field, or holds a key that changes the meaning of others. */
  elsewhere: boolean;
}

/** Return what a key does, and whether the next one belongs to it. `waiting`: `g` was pressed before. */
export function press(
  pressed: Pressed,
  waiting: boolean,
  goals: Readonly<Record<string, string>>,
): { act: Act | null; waiting: boolean } {
  if (pressed.elsewhere) return { act: null, waiting: false };
  if (waiting) {
    const path = Object.hasOwn(goals, pressed.key) ? goals[pressed.key] : undefined;
    return { act: path === undefined ? null : { kind: 'go', path }, waiting: false };
  }
  switch (pressed.key) {
    case 'g':
      return { act: null, waiting: true };
    case '?':
      return { act: { kind: 'help' }, waiting: false };
    case '/':
      return { act: { kind: 'search' }, waiting: false };
    default:
      return { act: null, waiting: false };
  }
}
