/** The two cookies of a login. With the prefix `__Host-`, a sibling domain can neither read nor plant them. */

const attributes = "; Path=/; Secure; HttpOnly; SameSite=Lax";

/** @param maxAgeSeconds lifetime in the browser; 0 deletes the cookie */
export function setCookie(name: string, value: string, maxAgeSeconds: number): string {
  return `${name}=${value}; Max-Age=${Math.max(0, Math.floor(maxAgeSeconds))}${attributes}`;
}

export function dropCookie(name: string): string {
  return setCookie(name, "", 0);
}
