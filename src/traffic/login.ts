/**
 * Logins as the rest of the traffic code sees them. Login cookies have one of two forms. On every route of a site with
 * a login they are removed from requests, and responses may not set them, because another service on the same host must
 * neither read nor plant one (security I2).
 */
import type { Exchange } from "./exchange.ts";
import type { HeaderFields } from "./header-fields.ts";
import type { Step } from "./step.ts";
import type { LoginCookies } from "./visitor.ts";

/** Admits logged-in visitors: a login module, or the login of a policy rule. */
export interface LoginGuard {
  request(exchange: Exchange): Step | Promise<Step>;
  /** Returns what `request` would answer now, without side effects. */
  rehearse(exchange: Exchange): Step | Promise<Step>;
}

const named = String.raw`__Host-[A-Za-z0-9.]*(?:session\.[0-9a-z]{8}|nonce\.[0-9a-z]{8}\.[\w-]{6})`;
const form = new RegExp(`^${named}$`);
/** A login cookie with the separator before it: name and optional value. */
const inCookie = new RegExp(String.raw`(?:^|;)\s*(${named})\s*(?:=([^;]*))?(?=;|$)`, "g");
const leadingSeparators = /^[;\s]+/;
const host = "__Host-";
const none: LoginCookies = Object.freeze([]);

export function isLoginCookie(name: string): boolean {
  return form.test(name);
}

/** Removes the login cookies from a request's fields, and returns them. */
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

/** Returns the rest of a Cookie field. Removed cookies are added to `taken`. */
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

/** A field value must not end with a space or tab, which may have preceded a removed cookie. */
function withoutBlanksBehind(text: string): string {
  let end = text.length;
  while (end > 0 && (text.charCodeAt(end - 1) === 0x20 || text.charCodeAt(end - 1) === 0x09)) end -= 1;
  return text.slice(0, end);
}

/** Removes the fields that would set a login cookie from a response. */
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
 * Browsers send a nameless cookie back as its value alone, which can look like a name with a value: "=name=value" and
 * "name" plant a cookie just as "name=value" does, in browsers that predate that rule of RFC 6265bis §5.7.
 */
function setsLoginCookie(field: string): boolean {
  const [pair = ""] = field.split(";", 1);
  const [name = "", ...rest] = pair.split("=");
  const sentAs = name.trim() === "" ? rest.join("=") : pair;
  return isLoginCookie((sentAs.split("=", 1)[0] as string).trim());
}

/** RFC 6750 §2.1, with the prefixes of our tokens. */
const ownToken = /^bearer\s+(postern_(?:oa|st)_.*)$/i;
/** RFC 7617, as lenient as any service may be. */
const basic = /^basic\s+([\w+/=-]+)$/i;
/** A service token as the password, or as the user name without a password. */
const inBasic = /^(?:[^:]*:(postern_st_\w*)|(postern_st_\w*):?)$/;

/** Removes an access token of this server from a request's fields, and returns it. A service must never receive one. */
export function cutAccessToken(headers: HeaderFields): string | undefined {
  const field = headers.get("authorization");
  if (field === undefined) return undefined;
  const own = headers.getAll("authorization").flatMap((one) => tokenIn(one.trim()) ?? []);
  if (own.length === 0) return undefined;
  headers.delete("authorization");
  // Two fields are ambiguous, and no valid token has this form.
  return own.length === 1 ? own[0] : "";
}

/** Returns the token of this server in an Authorization field; "" if it is there in an unusual form. */
function tokenIn(field: string): string | undefined {
  const bearer = ownToken.exec(field)?.[1];
  if (bearer !== undefined) return bearer;
  const encoded = basic.exec(field)?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, "base64").toString("latin1");
  if (!text.includes("postern_st_")) return undefined;
  const [, password, user] = inBasic.exec(text) ?? [];
  return password ?? user ?? "";
}

/** Returns the first cookie with that name, or undefined. */
export function loginCookie(cookies: LoginCookies | undefined, name: string): string | undefined {
  if (cookies === undefined) return undefined;
  for (let at = 0; at < cookies.length; at += 2) if (cookies[at] === name) return cookies[at + 1];
  return undefined;
}

function mayHold(line: string): boolean {
  return line.includes(host);
}
