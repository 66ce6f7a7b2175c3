import type { Texts } from './en';

export const de: Texts = {
  loading: 'Wird geladen …',
  again: 'Noch einmal versuchen',
  close: 'Schließen',
  cancel: 'Abbrechen',
  away: 'Der Controller antwortet nicht.',
  remedies: {
    'sign-in': 'Melden Sie sich neu an.',
    role: 'Jemand mit einer größeren Rolle kann das tun; Rollen vergibt ein Admin (Zugang).',
    gone: 'Vielleicht wurde es inzwischen entfernt. Gehen Sie zurück zur Liste.',
    conflict: 'Sehen Sie nach, was jetzt da ist, und versuchen Sie es noch einmal.',
    reload: 'Jemand anders hat es inzwischen geändert: Laden Sie die Seite neu und wiederholen Sie die Änderung.',
    value: 'Berichtigen Sie den Wert und versuchen Sie es noch einmal.',
    slower: 'Warten Sie einige Sekunden und versuchen Sie es noch einmal.',
    servers: 'Sehen Sie auf der Übersicht nach den Routenservern: Keiner hat geantwortet.',
    wait: 'Die Seite versucht es von selbst wieder, sobald der Controller antwortet.',
    log: 'Mehr steht im Log des Controllers: journalctl -u weft-controller.',
  },
  rows: (count: string) => `${count} Zeilen`,
  more: 'Weitere werden geladen …',
  copy: 'Kopieren',
  copied: 'Kopiert',
  notCopied: 'Der Browser lässt die Seite nicht kopieren: Der Text ist markiert.',
  left: 'übrig',
  over: 'abgelaufen',
};
