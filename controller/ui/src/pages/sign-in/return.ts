/** Where a user was before signing in at the issuer. The page remembers it; no address of the controller carries it. */

const KEPT = 'weft.return';

/** Keep the present page for after the sign-in. */
export function remember(path: string): void {
  sessionStorage.setItem(KEPT, path);
}

/** Return the page that was kept, once. */
export function forget(): string | null {
  const kept = sessionStorage.getItem(KEPT);
  sessionStorage.removeItem(KEPT);
  return kept;
}

/** Return the reason in an address to which the controller sends a user whom the issuer did not sign in. */
export function failureIn(search: string): string | null {
  const code = new URLSearchParams(search).get('sign-in');
  return code !== null && /^[a-z-]{1,40}$/.test(code) ? code : null;
}
