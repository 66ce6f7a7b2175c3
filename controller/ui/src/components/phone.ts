import { MediaQuery } from 'svelte/reactivity';

/** Whether the window is as narrow as a phone's: tables then have few columns. */
export const phone = new MediaQuery('(max-width: 700px)');
