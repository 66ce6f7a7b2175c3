/** The language of the pages, and the choice between texts. */

export type Language = 'en' | 'de';

export const LANGUAGES: Record<Language, string> = { en: 'English', de: 'Deutsch' };

const KEPT = 'weft.language';

/** Return the language that was chosen before, or else the first one of the browser's that there is. */
export function first(kept: string | null, wanted: readonly string[]): Language {
  const known = (name: string | undefined): name is Language => name !== undefined && name in LANGUAGES;
  if (kept !== null && known(kept)) return kept;
  return wanted.map((tag) => tag.split('-')[0]?.toLowerCase()).find(known) ?? 'en';
}

function read(): Language {
  return first(localStorage.getItem(KEPT), navigator.languages);
}

class Choice {
  current = $state<Language>(read());

  choose(language: Language): void {
    this.current = language;
    localStorage.setItem(KEPT, language);
    document.documentElement.lang = language;
  }
}

export const language = new Choice();

/** Return the texts of the present language. Within `$derived` the page follows a change of the language. */
export function choose<T>(all: Record<Language, T>): T {
  return all[language.current];
}
