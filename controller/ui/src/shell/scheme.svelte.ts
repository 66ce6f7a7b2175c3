/** Light or dark: the system's choice, or the user's. */

import { MediaQuery } from 'svelte/reactivity';

export type Scheme = 'auto' | 'light' | 'dark';

export const SCHEMES: readonly Scheme[] = ['auto', 'light', 'dark'];

const KEPT = 'weft.scheme';

const system = new MediaQuery('(prefers-color-scheme: dark)');

class Choice {
  current = $state<Scheme>(SCHEMES.find((one) => one === localStorage.getItem(KEPT)) ?? 'auto');

  constructor() {
    this.#show();
  }

  /** Whether the colours are dark now. */
  get dark(): boolean {
    return this.current === 'dark' || (this.current === 'auto' && system.current);
  }

  choose(scheme: Scheme): void {
    this.current = scheme;
    localStorage.setItem(KEPT, scheme);
    this.#show();
  }

  #show(): void {
    if (this.current === 'auto') delete document.documentElement.dataset.scheme;
    else document.documentElement.dataset.scheme = this.current;
  }
}

export const scheme = new Choice();
