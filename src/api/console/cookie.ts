/** The cookie of a session at the console. */
import type { IncomingMessage } from "node:http";

/**
 * `__Host-` where the page came over TLS. Without, as on the loopback, browsers would not keep one of that name; the
 * port is in the name then, since cookies of one host are those of all its ports.
 */
function nameFor(baseUrl: string): string {
  const { protocol, port } = new URL(baseUrl);
  return protocol === "https:" ? "__Host-postern_console" : `postern_console_${port || "80"}`;
}

export function readCookie({ headers }: IncomingMessage, baseUrl: string): string | undefined {
  const { cookie } = headers;
  if (cookie === undefined) return undefined;
  const start = `${nameFor(baseUrl)}=`;
  const found = cookie.split(/; */).find((one) => one.startsWith(start));
  return found?.slice(start.length);
}

/** A value for `Set-Cookie`. @param seconds that it lives; 0 takes it away */
export function cookieField(baseUrl: string, value: string, seconds: number): string {
  const secure = baseUrl.startsWith("https:") ? "; Secure" : "";
  return `${nameFor(baseUrl)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}
