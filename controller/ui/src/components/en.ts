import type { Remedy } from '../api/failure';

const remedies: Record<Remedy, string> = {
  'sign-in': 'Sign in again.',
  role: 'Somebody with a greater role can do this; an admin gives roles (Access).',
  gone: 'It may have been removed meanwhile. Go back to the list.',
  conflict: 'Look at what is there now, and try again.',
  reload: 'Somebody else has changed it meanwhile: load the page again, then repeat your change.',
  value: 'Correct the value and try again.',
  slower: 'Wait a few seconds, then try again.',
  servers: 'Look at the route servers on the overview: none of them has answered.',
  wait: 'The page tries again by itself as soon as the controller answers.',
  log: 'The controller’s log says more: journalctl -u weft-controller.',
};

export const en = {
  loading: 'Loading …',
  again: 'Try again',
  close: 'Close',
  cancel: 'Cancel',
  away: 'The controller does not answer.',
  remedies,
  rows: (count: string) => `${count} rows`,
  more: 'Loading more …',
  copy: 'Copy',
  copied: 'Copied',
  notCopied: 'The browser does not let the page copy: the text is selected.',
  left: 'left',
  over: 'over',
  chart: {
    point: 'Point in time',
    at: 'Time',
    lost: 'Lost',
    none: 'nothing came back',
    table: 'All points as a table',
  },
};

export type Texts = typeof en;
