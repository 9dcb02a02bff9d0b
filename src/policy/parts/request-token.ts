/** Location of a token in a request: a header field, or a member of the body (traffic policy, jwt-validation). */
import { captureWork } from "../../lib/heartbeat.ts";
import { parseJsonObject } from "../../lib/json.ts";
import type { Exchange } from "../../traffic/exchange.ts";

export interface TokenPlace {
  readonly method: "header" | "body";
  readonly name: string;
  /** Text before the token, case-insensitive as in authentication schemes. */
  readonly prefix: string;
}

/** Maximum size of a body with a token, bytes. Longer bodies are not read. */
const maxBodyBytes = 64 * 1024;
const bodyMethods: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/**
 * Returns the text after the prefix. Returns undefined if there is none or several, because readers would disagree
 * about which one counts. Never rejects.
 */
export async function findToken(exchange: Exchange, place: TokenPlace): Promise<string | undefined> {
  const inSameWork = captureWork();
  const { method, name, prefix } = place;
  const text = method === "header" ? headerOf(exchange, name) : inSameWork(await memberOf(exchange, name));
  if (text?.slice(0, prefix.length).toLowerCase() !== prefix.toLowerCase()) return undefined;
  const token = text.slice(prefix.length).trim();
  return token === "" ? undefined : token;
}

function headerOf({ request }: Exchange, name: string): string | undefined {
  const values = request.headers.getAll(name);
  return values.length === 1 ? values[0] : undefined;
}

async function memberOf(exchange: Exchange, name: string): Promise<string | undefined> {
  const inSameWork = captureWork();
  const { method, headers } = exchange.request;
  if (!bodyMethods.has(method) || headers.has("content-encoding")) return undefined;
  const type = (headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  const isForm = type === "application/x-www-form-urlencoded";
  if (!isForm && !/^application\/(?:[\w.-]+\+)?json$/.test(type ?? "")) return undefined;
  try {
    const body = inSameWork(await exchange.body(maxBodyBytes));
    if (!isForm) {
      const value = parseJsonObject(body);
      return Object.hasOwn(value, name) && typeof value[name] === "string" ? value[name] : undefined;
    }
    const values = new URLSearchParams(body.toString("utf8")).getAll(name);
    return values.length === 1 ? values[0] : undefined;
  } catch {
    return undefined;
  }
}
