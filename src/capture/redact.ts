/** Replaces secret values of a record by keyed hashes. Equal values stay equal within a day. */
import type { HeaderPairs } from "../traffic/header-list.ts";
import type { CapturedRequest } from "./record.ts";
import type { CaptureRule } from "./rule.ts";

/** Fields that carry credentials, and are hashed everywhere. */
const alwaysRedacted: ReadonlySet<string> = new Set(["authorization", "proxy-authorization", "cookie", "set-cookie"]);
/** Fields that repeat the request's URL, with its query. */
const urlFields: ReadonlySet<string> = new Set(["referer"]);

export function redact(
  record: CapturedRequest,
  { redactHeaders, redactQuery }: Pick<CaptureRule, "redactHeaders" | "redactQuery">,
  hash: (value: string) => string,
): CapturedRequest {
  const isSecret = (name: string): boolean => alwaysRedacted.has(name) || redactHeaders.includes(name);
  const { request, upstream } = record;
  const query = (target: string): string =>
    redactQuery.length === 0 ? target : redactedQuery(target, redactQuery, hash);
  const hashed = new Set<string>();
  const headers = redactedFields(request.headers, isSecret, query, hash, hashed);
  const target = query(request.target);
  if (headers === request.headers && target === request.target && upstream === undefined) return record;
  return {
    ...record,
    request: { ...request, headers, target, redacted: [...hashed] },
    upstream: upstream && {
      ...upstream,
      headers: redactedFields(upstream.headers, isSecret, query, hash, new Set()),
    },
  };
}

function redactedFields(
  fields: HeaderPairs,
  isSecret: (name: string) => boolean,
  query: (target: string) => string,
  hash: (value: string) => string,
  hashed: Set<string>,
): HeaderPairs {
  let changed: (readonly [string, string])[] | undefined;
  for (let at = 0; at < fields.length; at += 1) {
    const [name, value] = fields[at] as readonly [string, string];
    let shown = value;
    if (isSecret(name)) {
      hashed.add(name);
      shown = hash(value);
    } else if (urlFields.has(name)) shown = query(value);
    if (shown === value) continue;
    changed ??= [...fields];
    changed[at] = [name, shown];
  }
  return changed ?? fields;
}

/** Replaces the values of the named parameters, whose names a client may have encoded. */
function redactedQuery(target: string, names: readonly string[], hash: (value: string) => string): string {
  const start = target.indexOf("?");
  if (start < 0) return target;
  const parts = target.slice(start + 1).split("&");
  const shown = parts.map((part) => {
    const equals = part.indexOf("=");
    if (equals < 0 || !names.includes(decoded(part.slice(0, equals)))) return part;
    return `${part.slice(0, equals + 1)}${hash(part.slice(equals + 1))}`;
  });
  return `${target.slice(0, start)}?${shown.join("&")}`;
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll("+", " "));
  } catch {
    return name;
  }
}
