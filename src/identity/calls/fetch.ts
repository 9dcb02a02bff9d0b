/** Calls to providers: bounded, JSON, without redirects (security I7). Failures are `LoginRefusal`s. */
import type { Clock } from "../../lib/clock.ts";
import { JsonIssue, parseJsonObject } from "../../lib/json.ts";
import type { JsonObject } from "../../lib/json.ts";
import { openOutbound } from "../../outbound/outbound.ts";
import type { Outbound, OutboundAnswer, OutboundRequest } from "../../outbound/outbound.ts";
import { LoginRefusal } from "./identity.ts";
import { makeTurns } from "./call-turns.ts";

export interface FetchSettings {
  readonly clock: Clock;
  /** Whether tenants' providers may have local addresses and use plain HTTP. */
  readonly allowLocal: boolean;
  /** PEM of authorities that may issue providers' certificates. */
  readonly ca: string | undefined;
}

export interface FetchedAnswer {
  readonly status: number;
  readonly json: JsonObject;
  /** The answer, if it is a list at the top level. */
  readonly list: readonly JsonObject[] | undefined;
  /** The answer, if it is a signed token instead of JSON (OpenID Connect Core §5.3.2). */
  readonly token?: string;
}

type Headers = Readonly<Record<string, string>>;

export interface ProviderFetch {
  get(url: string, headers?: Headers): Promise<FetchedAnswer>;
  post(url: string, form: Readonly<Record<string, string>>, headers?: Headers): Promise<FetchedAnswer>;
}

export interface Fetches {
  /** @param named the operator configured the address, so it may be anywhere */
  to(key: string, named: boolean): ProviderFetch;
  close(): void;
}

const callMs = 5_000;
const maxDataBytes = 1024 * 1024;
const maxTokenBytes = 64 * 1024;
/**
 * Maximum concurrent calls per provider, and maximum waiting calls. A rush is served as fast as the provider answers.
 */
const maxUnderWay = 64;
const maxWaiting = 2_048;

const jsonTypes =
  /^(?:application\/(?:[\w.-]+\+)?json|text\/(?:javascript|json|plain)|(?:application|binary)\/octet-stream)?\s*(?:;|$)/i;
const signedTypes = /^application\/(?:[\w.-]+\+)?jwt\s*(?:;|$)/i;

export function makeFetches({ clock, allowLocal, ca }: FetchSettings): Fetches {
  const shared = { purpose: "logins", clock, ca, timeoutMs: callMs, maxConnections: maxUnderWay } as const;
  const openFor = (reach: "public" | "any"): Record<"data" | "token", Outbound> => ({
    data: openOutbound({ ...shared, reach, maxAnswerBytes: maxDataBytes }),
    token: openOutbound({ ...shared, reach, maxAnswerBytes: maxTokenBytes }),
  });
  const tenants = openFor(allowLocal ? "any" : "public");
  const operators = openFor("any");
  const turns = makeTurns(clock, { maxUnderWay, maxWaiting, waitMs: callMs });

  const call = (key: string, outbound: Outbound, request: OutboundRequest): Promise<FetchedAnswer> =>
    turns.take(key, async () => readAnswer(await sendRequest(outbound, { ...request, asker: key }), request.url));
  return {
    to(key, named) {
      const { data, token } = named ? operators : tenants;
      const common = { accept: "application/json", "accept-encoding": "identity" };
      const form = "application/x-www-form-urlencoded";
      return {
        get: async (url, headers) =>
          await call(key, data, { method: "GET", url: urlOf(url), headers: { ...common, ...headers } }),
        post: async (url, fields, headers) =>
          await call(key, token, {
            method: "POST",
            url: urlOf(url),
            headers: { ...common, "content-type": form, ...headers },
            body: new URLSearchParams(fields).toString(),
          }),
      };
    },
    close() {
      for (const one of [tenants, operators]) {
        one.data.close();
        one.token.close();
      }
    },
  };
}

async function sendRequest(outbound: Outbound, request: OutboundRequest): Promise<OutboundAnswer> {
  try {
    return await outbound.send(request);
  } catch (error) {
    throw new LoginRefusal("login_unreachable", `call ${placeOf(request.url)}: ${(error as Error).message}`);
  }
}

function readAnswer({ status, headers, body }: OutboundAnswer, url: URL): FetchedAnswer {
  const at = placeOf(url);
  const unusable = (why: string): LoginRefusal => new LoginRefusal("login_exchange_failed", `${at} ${why}`);
  if (status === 429) throw new LoginRefusal("login_throttled", `${at} answers 429`);
  if (status === 503) throw new LoginRefusal("login_busy", `${at} answers 503`);
  if (status >= 500) throw new LoginRefusal("login_provider_down", `${at} answers ${status}`);
  if (status >= 300 && status < 400) throw unusable("redirects, and redirects are not followed");
  const coding = headers["content-encoding"];
  if (coding !== undefined && coding !== "identity")
    throw unusable("answers compressed although the request did not allow that");
  const type = headers["content-type"] ?? "";
  if (signedTypes.test(type)) {
    return { status, json: {}, list: undefined, token: Buffer.from(body).toString("latin1").trim() };
  }
  // Some providers serve JSON without its type. For HTML the error names the type, which is more helpful than a parser
  // error.
  if (!jsonTypes.test(type)) {
    throw unusable(`answers ${status} with "${type.slice(0, 60)}" instead of JSON`);
  }
  try {
    if (body[0] !== 0x5b) return { status, json: parseJsonObject(body), list: undefined };
    const wrapped = parseJsonObject(Buffer.concat([Buffer.from('{"list":'), body, Buffer.from("}")]));
    return { status, json: {}, list: wrapped["list"] as readonly JsonObject[] };
  } catch (error) {
    throw error instanceof JsonIssue ? unusable(`answers what ${error.message}`) : error;
  }
}

function urlOf(text: string): URL {
  const url = URL.parse(text);
  if (!url) throw new LoginRefusal("login_unreachable", "the provider's address is not a URL");
  return url;
}

/** Omits the query, which may contain secrets. */
function placeOf({ origin, pathname }: URL): string {
  return origin + pathname;
}

/** Returns `json[name]` if it is text; otherwise "". */
export function textOf(json: JsonObject, name: string): string {
  const value = json[name];
  return typeof value === "string" ? value : "";
}
