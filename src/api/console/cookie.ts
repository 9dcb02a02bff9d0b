/** The cookie of a session at the console. */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import type { OpenSession } from "./sessions.ts";

/**
 * `__Host-` where the page came over TLS. Without, as on the loopback, browsers would not keep one of that name; the
 * port is in the name then, since cookies of one host are those of all its ports.
 */
function nameFor(baseUrl: string): string {
  const { protocol, port } = new URL(baseUrl);
  return protocol === "https:" ? "__Host-postern_console" : `postern_console_${port || "80"}`;
}

export function readCookie({ headers }: IncomingMessage, baseUrl: string): string | undefined {
  return valueOf(headers.cookie, nameFor(baseUrl));
}

function valueOf(cookies: string | undefined, name: string): string | undefined {
  const found = cookies?.split(/; */).find((one) => one.startsWith(`${name}=`));
  return found?.slice(name.length + 1);
}

/** Of a log-in under way, which another site leads back from: that one would keep a stricter cookie away. */
export function flowCookieField(baseUrl: string, value: string, seconds: number): string {
  const secure = baseUrl.startsWith("https:") ? "; Secure" : "";
  return `${nameFor(baseUrl)}_login=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
}

export function readFlowCookie({ headers }: IncomingMessage, baseUrl: string): string | undefined {
  return valueOf(headers.cookie, `${nameFor(baseUrl)}_login`);
}

/** A value for `Set-Cookie`. @param seconds that it lives; 0 takes it away */
export function cookieField(baseUrl: string, value: string, seconds: number): string {
  const secure = baseUrl.startsWith("https:") ? "; Secure" : "";
  return `${nameFor(baseUrl)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}

/** Of a session that was opened: it lives as long as that may. */
export function sessionCookieField(
  baseUrl: string,
  cookie: string,
  { expiresAtMs }: Pick<OpenSession, "expiresAtMs">,
  clock: Pick<Clock, "now">,
): string {
  return cookieField(baseUrl, cookie, Math.floor((expiresAtMs - clock.now()) / 1_000));
}
