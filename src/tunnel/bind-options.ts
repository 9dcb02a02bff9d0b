/**
 * The Opts of a bind. Agents send the Opts of our response when they reconnect, which requests the same name again.
 * Secrets in them are returned in the protocol's sealed form (agent-protocol, "Options of a tunnel").
 */
import { readMember, memberKey } from "./json-message.ts";
import type { JsonObject } from "./json-message.ts";
import type { Proofs } from "./proofs.ts";
import { isJsonObject } from "../lib/json.ts";

interface SecretPlace {
  readonly option: string;
  /** Name of the list whose elements contain the secret; undefined if the option itself contains it. */
  readonly list?: string;
  readonly clear: string;
  readonly sealed: string;
}

const secretPlaces: readonly SecretPlace[] = [
  { option: "BasicAuth", list: "credentials", clear: "cleartext_password", sealed: "hashed_password" },
  { option: "OAuth", clear: "client_secret", sealed: "sealed_client_secret" },
  { option: "OIDC", clear: "client_secret", sealed: "sealed_client_secret" },
  { option: "WebhookVerification", clear: "secret", sealed: "sealed_secret" },
  { option: "TLSTermination", clear: "key", sealed: "sealed_key" },
];

/** Returns the options with every secret decrypted that this server sealed for the account. */
export function openOptions(options: JsonObject, proofs: Proofs, accountId: string): JsonObject {
  return replaceSecrets(options, (holder, place) => {
    const sealed = holder[place.sealed];
    if (typeof sealed !== "string" || sealed === "" || holder[place.clear]) return holder;
    const text = proofs.unseal(`${accountId} ${place.option}`, sealed);
    return text === undefined ? holder : { ...omitMember(holder, place.sealed), [place.clear]: text };
  });
}

/** Returns the options for the response: as requested, with the assigned name and without plain-text secrets. */
export function echoOptions(
  options: JsonObject,
  place: { readonly url: string; readonly hostname: string; readonly address: string; readonly proto: string },
  proofs: Proofs,
  accountId: string,
): JsonObject {
  const echoed: Record<string, unknown> = {
    ...replaceSecrets(options, (holder, place) => {
      const clear = holder[place.clear];
      if (typeof clear !== "string" || clear === "") return holder;
      const sealed = proofs.seal(`${accountId} ${place.option}`, clear);
      return { ...omitMember(holder, place.clear), [place.sealed]: sealed };
    }),
  };
  const nameKey = place.proto === "tcp" ? "Addr" : "Hostname";
  echoed[memberKey(options, nameKey) ?? nameKey] = place.proto === "tcp" ? place.address : place.hostname;
  const urlKey = memberKey(options, "URL");
  if (urlKey !== undefined) echoed[urlKey] = place.url;
  return echoed;
}

function replaceSecrets(
  options: JsonObject,
  replace: (holder: JsonObject, place: SecretPlace) => JsonObject,
): JsonObject {
  let result = options;
  for (const place of secretPlaces) {
    const key = memberKey(result, place.option);
    const holder = key === undefined ? undefined : result[key];
    if (key === undefined || !isJsonObject(holder)) continue;
    if (place.list === undefined) {
      result = { ...result, [key]: replace(holder, place) };
      continue;
    }
    const listKey = memberKey(holder, place.list) ?? place.list;
    const list = readMember(holder, place.list);
    if (!Array.isArray(list)) continue;
    const replaced = list.map((one: unknown) => (isJsonObject(one) ? replace(one, place) : one));
    result = { ...result, [key]: { ...holder, [listKey]: replaced } };
  }
  return result;
}

function omitMember(object: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => key !== name));
}
