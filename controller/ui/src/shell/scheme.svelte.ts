/** Light or dark: the system's choice, or the user's. */

export type Scheme = 'auto' | 'light' | 'dark';

export const SCHEMES: readonly Scheme[] = ['auto', 'light', 'dark'];

const KEPT = 'weft.scheme';

class Choice {
  current = $state<Scheme>(SCHEMES.find((one) => one === localStorage.getItem(KEPT)) ?? 'auto');

  constructor() {
    this.#show();
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
