import type { Texts } from './en';

export const de: Texts = {
  title: 'Anmelden',
  lead: 'Cloudlets, Pools und Routen dieser Region.',
  token: 'API-Token',
  tokenHint: 'Von „weft token add“. Es wird gegen eine Sitzung getauscht und bleibt nicht im Browser.',
  submit: 'Anmelden',
  or: 'oder',
  oidc: 'Beim Identitätsanbieter anmelden',
  ended: 'Die Sitzung ist vorbei. Melden Sie sich neu an; danach sind Sie wieder hier.',
  empty: 'Fügen Sie das Token hier ein.',
  failed: {
    'other-browser': 'Die Anmeldung hat zu lange gedauert oder in einem anderen Browser begonnen. Beginnen Sie neu.',
    refused: 'Der Identitätsanbieter hat Sie nicht angemeldet. Beginnen Sie neu, oder fragen Sie dessen Betreiber.',
    away: 'Der Identitätsanbieter antwortet nicht. Versuchen Sie es noch einmal, oder nehmen Sie ein API-Token.',
    'no-role':
      'Der Identitätsanbieter kennt Sie, aber keine Ihrer Gruppen hat hier eine Rolle. Fragen Sie einen Admin der Region.',
  },
};
