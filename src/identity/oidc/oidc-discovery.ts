/**
 * Fetches an issuer's metadata (OpenID Connect Discovery) at first use and hourly. The last valid answer is used for up
 * to a day.
 */
import { signatureAlgorithms } from "../../jose/algorithms.ts";
import type { SignatureAlgorithm } from "../../jose/algorithms.ts";
import type { Clock } from "../../lib/clock.ts";
import type { JsonObject } from "../../lib/json.ts";
import { textOf } from "../calls/fetch.ts";
import type { ProviderFetch } from "../calls/fetch.ts";
import { LoginRefusal } from "../calls/identity.ts";
import { makeKeySet } from "./issuer-keys.ts";
import type { KeySet } from "./issuer-keys.ts";

export interface Issuer {
  /** In the spelling of its own metadata, which tokens and callbacks must match exactly. */
  readonly issuer: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly userinfoEndpoint: string;
  readonly endSessionEndpoint: string;
  readonly algorithms: readonly SignatureAlgorithm[];
  /** Whether client credentials go into the form instead of a header. */
  readonly posts: boolean;
  readonly returnsIssuer: boolean;
  readonly keys: KeySet;
}

const freshMs = 3_600_000;
const goodMs = 24 * 3_600_000;
/** Limits requests to an issuer that does not answer. */
const retryMs = 2_000;

/** Rejects with `login_unreachable` while there is no valid answer. */
export function makeDiscovery(issuer: string, fetcher: ProviderFetch, clock: Clock): () => Promise<Issuer> {
  let known: Issuer | undefined;
  let knownAt = 0;
  let failure: { readonly error: unknown; readonly at: number } | undefined;
  let asking: Promise<void> | undefined;
  let keySet: { readonly url: string; readonly keys: KeySet } | undefined;

  const ask = async (): Promise<void> => {
    try {
      const { status, json } = await fetcher.get(`${withoutSlash(issuer)}/.well-known/openid-configuration`);
      if (status !== 200) throw refuseUnusable(`configuration is answered ${status}`);
      const jwks = readEndpoint(json, "jwks_uri", issuer, true);
      if (keySet?.url !== jwks) keySet = { url: jwks, keys: makeKeySet(jwks, fetcher, clock) };
      known = readIssuer(json, issuer, keySet.keys);
      knownAt = clock.monotonic();
      failure = undefined;
    } catch (error) {
      failure = { error, at: clock.monotonic() };
    } finally {
      asking = undefined;
    }
  };

  return async () => {
    const now = clock.monotonic();
    const isFresh = known !== undefined && now - knownAt <= freshMs;
    const mayAsk = failure === undefined || now - failure.at >= retryMs;
    if (!isFresh && mayAsk) await (asking ??= ask());
    if (known === undefined || clock.monotonic() - knownAt > goodMs)
      throw failure?.error ?? refuseUnusable("is not known");
    return known;
  };
}

function readIssuer(json: JsonObject, issuer: string, keys: KeySet): Issuer {
  const own = json["issuer"];
  // Users omit or add the trailing slash. Both spellings lead to the same document.
  if (typeof own !== "string" || withoutSlash(own) !== withoutSlash(issuer)) {
    throw refuseUnusable(`name for itself is ${JSON.stringify(own ?? null).slice(0, 200)}`);
  }
  const listed = json["id_token_signing_alg_values_supported"];
  const methods = json["token_endpoint_auth_methods_supported"];
  return {
    issuer: own,
    authorizationEndpoint: readEndpoint(json, "authorization_endpoint", issuer, true),
    tokenEndpoint: readEndpoint(json, "token_endpoint", issuer, true),
    userinfoEndpoint: readEndpoint(json, "userinfo_endpoint", issuer, false),
    endSessionEndpoint: readEndpoint(json, "end_session_endpoint", issuer, false),
    algorithms: Array.isArray(listed) ? signatureAlgorithms.filter((one) => listed.includes(one)) : ["RS256"],
    posts: Array.isArray(methods) && !methods.includes("client_secret_basic"),
    returnsIssuer: json["authorization_response_iss_parameter_supported"] === true,
    keys,
  };
}

/** An https URL, or http for an issuer that uses http itself, which the API allows only for local addresses. */
function readEndpoint(json: JsonObject, name: string, issuer: string, isRequired: boolean): string {
  const text = textOf(json, name);
  if (text === "" && !isRequired) return "";
  const url = URL.parse(text);
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && issuer.startsWith("http:"));
  const isBare = url?.username === "" && url.password === "" && url.hash === "";
  if (!isSafe || !isBare) throw refuseUnusable(`${name} is not an https URL`);
  return text;
}

function withoutSlash(issuer: string): string {
  return issuer.endsWith("/") ? issuer.slice(0, -1) : issuer;
}

function refuseUnusable(why: string): LoginRefusal {
  return new LoginRefusal("login_unreachable", `the issuer cannot be used: its ${why}`);
}
