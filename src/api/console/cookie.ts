/** The cookie of a console session. */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import type { OpenSession } from "./open-session.ts";

/**
 * Uses `__Host-` if the page was loaded over TLS. Without TLS, as on loopback, browsers reject that prefix. The name
 * then contains the port, because cookies of a host are shared by all its ports.
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

/**
 * Cookie of a login in progress. It is not strict, because the provider's redirect comes from another site and browsers
 * would not send a strict cookie.
 */
export function flowCookieField(baseUrl: string, value: string, seconds: number): string {
  const secure = baseUrl.startsWith("https:") ? "; Secure" : "";
  return `${nameFor(baseUrl)}_login=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
}

export function readFlowCookie({ headers }: IncomingMessage, baseUrl: string): string | undefined {
  return valueOf(headers.cookie, `${nameFor(baseUrl)}_login`);
}

/**
 * Returns a value for `Set-Cookie`.
 * @param seconds its lifetime; 0 deletes it
 */
export function cookieField(baseUrl: string, value: string, seconds: number): string {
  const secure = baseUrl.startsWith("https:") ? "; Secure" : "";
  return `${nameFor(baseUrl)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}

/** Cookie of an open session, with the session's maximum lifetime. */
export function sessionCookieField(
  baseUrl: string,
  cookie: string,
  { expiresAtMs }: Pick<OpenSession, "expiresAtMs">,
  clock: Pick<Clock, "now">,
): string {
  return cookieField(baseUrl, cookie, Math.floor((expiresAtMs - clock.now()) / 1_000));
}
