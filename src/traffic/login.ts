/**
 * Logins as the rest of the traffic sees them. Login cookies have one of two forms; on every route
 * of a site that has a login they are cut from requests and may not be set by responses: another service on the same
 * host must neither read nor plant one (security I2).
 */
import type { Exchange, HeaderFields } from "./exchange.ts";
import type { Step } from "./step.ts";

/** Lets visitors in who have logged in: a module, or what a rule of a policy asks. */
export interface LoginGuard {
  request(exchange: Exchange): Step | Promise<Step>;
  /** What `request` would answer now, without its side effects. */
  rehearse(exchange: Exchange): Step | Promise<Step>;
}

/** A login that holds, as rules of a policy read it. */
export interface VisitorSession {
  /** Public ids of it and of its user. */
  readonly id: string;
  readonly userId: string;
  /** The provider's, each "" unless the service behind may have it. */
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly idToken: string;
  /** Milliseconds since 1970. */
  readonly loginAt: number;
  readonly checkedAt: number;
  /** When it ends if it is not used any more, milliseconds since 1970. */
  readonly endsAt: number;
}

/** Who is logged in, as far as variables and reports tell of it. */
export interface Visitor {
  readonly module: string;
  readonly clientId: string;
  readonly subject: string;
  readonly email: string;
  /** The provider answers for the address. */
  readonly emailVerified: boolean;
  readonly name: string;
  /** Teams, organizations or groups; as `session`, where a rule of a policy has asked for the login. */
  readonly groups?: readonly string[];
  readonly session?: VisitorSession | undefined;
}

/** Somebody as a dry run describes them: what a provider would say. */
export interface DescribedVisitor {
  readonly email: string;
  readonly emailVerified: boolean;
  /** Id at the provider. */
  readonly id: string;
  readonly name: string;
  /** Teams, organizations or groups. */
  readonly groups: readonly string[];
}

/** Name and value in turns. */
export type LoginCookies = readonly string[];

const named = String.raw`__Host-[A-Za-z0-9.]*(?:session\.[0-9a-z]{8}|nonce\.[0-9a-z]{8}\.[\w-]{6})`;
const form = new RegExp(`^${named}$`);
/** One of them with what parts it from the one before: name and value, which may be missing. */
const inCookie = new RegExp(String.raw`(?:^|;)\s*(${named})\s*(?:=([^;]*))?(?=;|$)`, "g");
const leadingSeparators = /^[;\s]+/;
const host = "__Host-";
const none: LoginCookies = Object.freeze([]);

export function isLoginCookie(name: string): boolean {
  return form.test(name);
}

/** Takes the login cookies out of a request's fields, and returns them. */
export function cutLoginCookies(headers: HeaderFields): LoginCookies {
  const lines = headers.getAll("cookie");
  if (!lines.some(mayHold)) return none;
  const taken: string[] = [];
  const left: string[] = [];
  for (const line of lines) {
    const rest = cutFrom(line, taken);
    if (rest !== "") left.push(rest);
  }
  if (taken.length === 0) return none;
  if (left.length === 0) headers.delete("cookie");
  else headers.set("cookie", left.join("; "));
  return taken;
}

/** Returns what is left of a Cookie field; what is taken goes to `taken`. */
function cutFrom(line: string, taken: string[]): string {
  let left = "";
  let from = 0;
  inCookie.lastIndex = 0;
  for (let found = inCookie.exec(line); found !== null; found = inCookie.exec(line)) {
    taken.push(found[1] as string, (found[2] ?? "").trim());
    left += line.slice(from, found.index);
    from = inCookie.lastIndex;
    if (from === line.length) break;
  }
  return withoutBlanksBehind((left + line.slice(from)).replace(leadingSeparators, ""));
}

/** A field's value ends with neither space nor tab; what preceded a cookie that was cut may. */
function withoutBlanksBehind(text: string): string {
  let end = text.length;
  while (end > 0 && (text.charCodeAt(end - 1) === 0x20 || text.charCodeAt(end - 1) === 0x09)) end -= 1;
  return text.slice(0, end);
}

/** Drops what would set a cookie of a login from a response's fields. */
export function dropLoginCookies(headers: HeaderFields): void {
  if (!headers.has("set-cookie")) return;
  const fields = headers.getAll("set-cookie");
  if (!fields.some((field) => field.includes(host))) return;
  const kept = fields.filter((field) => !setsLoginCookie(field));
  if (kept.length === fields.length) return;
  headers.delete("set-cookie");
  for (const field of kept) headers.append("set-cookie", field);
}

/**
 * A cookie without a name is sent back as its value alone, which may read as a name with a value: "=name=value" and "name"
 * plant a cookie just as "name=value" does, in browsers older than that rule of RFC 6265bis §5.7.
 */
function setsLoginCookie(field: string): boolean {
  const [pair = ""] = field.split(";", 1);
  const [name = "", ...rest] = pair.split("=");
  const sentAs = name.trim() === "" ? rest.join("=") : pair;
  return isLoginCookie((sentAs.split("=", 1)[0] as string).trim());
}

/** The first cookie of that name; undefined when there is none. */
export function loginCookie(cookies: LoginCookies | undefined, name: string): string | undefined {
  if (cookies === undefined) return undefined;
  for (let at = 0; at < cookies.length; at += 2) if (cookies[at] === name) return cookies[at + 1];
  return undefined;
}

function mayHold(line: string): boolean {
  return line.includes(host);
}
