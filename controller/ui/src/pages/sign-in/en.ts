export const en = {
  title: 'Sign in',
  lead: 'Cloudlets, pools and routes of this region.',
  token: 'API token',
  tokenHint: 'From “weft token add”. It is traded for a session and is not kept in the browser.',
  submit: 'Sign in',
  or: 'or',
  oidc: 'Sign in at the identity provider',
  ended: 'The session is over. Sign in again; you come back to where you were.',
  empty: 'Paste the token here.',
  failed: {
    'other-browser': 'The sign-in took too long, or began in another browser. Begin again.',
    refused: 'The identity provider did not sign you in. Begin again, or ask who runs it.',
    away: 'The identity provider does not answer. Try again, or use an API token.',
    'no-role': 'The identity provider knows you, but none of your groups has a role here. Ask an admin of this region.',
  } as Record<string, string>,
};

export type Texts = typeof en;
