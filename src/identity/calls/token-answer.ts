/** Parses a token response (RFC 6749 §5) by its content, not only by its status. */
import type { JsonObject } from "../../lib/json.ts";
import { LoginRefusal } from "./identity.ts";
import type { LoginRefusalName } from "./identity.ts";
import type { Connection, Tokens } from "./provider-connection.ts";
import { textOf } from "./fetch.ts";
import type { FetchedAnswer } from "./fetch.ts";

const maxTokenLength = 16 * 1024;

/** The client's credentials as form fields (`client_secret_post`). */
export function clientForm({ clientId, clientSecret }: Connection): Record<string, string> {
  return { client_id: clientId, client_secret: clientSecret };
}

/** @param asked the scopes if the response does not list them (RFC 6749 §5.1) */
export function tokenAnswer(
  { status, json }: FetchedAnswer,
  asked: readonly string[],
  grant: "code" | "refresh" = "code",
): { readonly tokens: Tokens; readonly scopes: readonly string[] } {
  const { error } = json;
  const isError = error !== undefined && error !== null && error !== "";
  // GitHub always answers 200. Twitch and Facebook do not use the standard's `error` text.
  if (isError || (status !== 200 && status !== 201)) throw refusalFrom(json, grant);
  const [access, refresh, id] = [textOf(json, "access_token"), textOf(json, "refresh_token"), textOf(json, "id_token")];
  if (access === "" || [access, refresh].some((one) => one.length > maxTokenLength || /[^\x21-\x7e]/.test(one))) {
    throw new LoginRefusal("login_exchange_failed", "the provider's answer has no usable access token");
  }
  const type = textOf(json, "token_type");
  if (type !== "" && type.toLowerCase() !== "bearer") {
    throw new LoginRefusal("login_exchange_failed", "the provider gave a token of another type than bearer");
  }
  return { tokens: { access, refresh, id }, scopes: scopesOf(json["scope"]) ?? asked };
}

/** Separated by spaces (RFC 6749 §3.3), by commas (GitHub), or a list (Twitch). */
function scopesOf(value: unknown): readonly string[] | undefined {
  if (Array.isArray(value)) return value.filter((one): one is string => typeof one === "string");
  return typeof value === "string" && value !== "" ? value.split(/[ ,]+/).filter((one) => one !== "") : undefined;
}

function refusalFrom(json: JsonObject, grant: "code" | "refresh"): LoginRefusal {
  const { error } = json;
  const code = typeof error === "string" ? error : "";
  const inner = typeof error === "object" && error !== null ? textOf(error as JsonObject, "message") : "";
  const said = (textOf(json, "error_description") || textOf(json, "message") || inner || code).slice(0, 200);
  const named = code === "" ? "" : ` (${code.slice(0, 60)})`;
  return new LoginRefusal(
    problemOf(code, said, grant),
    `the provider rejects the ${grant}${named}: ${JSON.stringify(said)}`,
  );
}

const byCode: Readonly<Record<string, LoginRefusalName>> = {
  invalid_client: "login_client_refused",
  unauthorized_client: "login_client_refused",
  incorrect_client_credentials: "login_client_refused",
  redirect_uri_mismatch: "login_redirect_refused",
  invalid_scope: "login_scope_refused",
  temporarily_unavailable: "login_busy",
  server_error: "login_provider_down",
  slow_down: "login_throttled",
};

function problemOf(code: string, said: string, grant: "code" | "refresh"): LoginRefusalName {
  const known = Object.hasOwn(byCode, code) ? byCode[code] : undefined;
  if (known) return known;
  if (/invalid client|client secret/i.test(said)) return "login_client_refused";
  return grant === "refresh" ? "login_withdrawn" : "login_exchange_failed";
}
