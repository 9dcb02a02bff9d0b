/**
 * Client ID metadata documents (draft-ietf-oauth-client-id-metadata-document): the client id is the URL of a document
 * about the client. Anyone can name a URL, so each is fetched within the limits of control I7 and cached.
 */
import type { Clock } from "../../lib/clock.ts";
import { Lru } from "../../lib/collections/lru.ts";
import { JsonIssue, parseJsonObject } from "../../lib/json.ts";
import type { JsonObject } from "../../lib/json.ts";
import { openOutbound } from "../../outbound/outbound.ts";
import { clientIn } from "./known-client.ts";
import type { KnownClient } from "./known-client.ts";

export interface MetadataDocuments {
  /** Returns the client, or why there is none. */
  find(accountId: string, clientId: string): Promise<KnownClient | string>;
  close(): void;
}

export interface MetadataDocumentsOptions {
  readonly clock: Clock;
  /** Whether documents may be at local addresses, also without TLS. */
  readonly allowLocal: boolean;
  readonly ca: string | undefined;
}

const callMs = 4_000;
const maxBytes = 8 * 1024;
const maxUrl = 256;
const maxCached = 1_000;
const [shortestMs, usualMs, longestMs] = [60_000, 5 * 60_000, 24 * 3_600_000];
/** A document that cannot be fetched is not requested again for a while. */
const failedMs = 30_000;
const maxFetches = 16;
/** Of one account, so that one route cannot use up the fetches of all. */
const maxOfAccount = 4;

interface Cached {
  readonly found: KnownClient | string;
  /** Monotonic time, milliseconds. */
  readonly until: number;
}

export function openMetadataDocuments({ clock, allowLocal, ca }: MetadataDocumentsOptions): MetadataDocuments {
  const outbound = openOutbound({
    purpose: "logins",
    clock,
    reach: allowLocal ? "any" : "public",
    ca,
    timeoutMs: callMs,
    maxAnswerBytes: maxBytes,
    keepsConnections: false,
  });
  const cached = new Lru<string, Cached>(maxCached);
  const fetching = new Map<string, Promise<KnownClient | string>>();
  const ofAccount = new Map<string, number>();

  const fetchOne = async (accountId: string, url: URL): Promise<KnownClient | string> => {
    let [found, keptMs]: [KnownClient | string, number] = ["the metadata document cannot be fetched", failedMs];
    try {
      const { status, headers, body } = await outbound.send({
        method: "GET",
        url,
        headers: { accept: "application/json", "accept-encoding": "identity" },
        asker: accountId,
      });
      found = documentOf(status, headers, body, url);
      if (typeof found !== "string") keptMs = cacheMs(headers["cache-control"] ?? "");
    } catch (error) {
      if (error instanceof JsonIssue) found = `the metadata document ${error.message}`;
      // The reason would tell strangers about this server's network.
    }
    cached.set(url.href, { found, until: clock.monotonic() + keptMs });
    return found;
  };
  return {
    async find(accountId, clientId) {
      const url = documentUrl(clientId, allowLocal);
      if (typeof url === "string") return url;
      const known = cached.get(url.href);
      if (known && known.until > clock.monotonic()) return known.found;
      const present = fetching.get(url.href);
      if (present) return await present;
      const own = ofAccount.get(accountId) ?? 0;
      if (fetching.size >= maxFetches || own >= maxOfAccount) return "too many metadata documents are being fetched";
      ofAccount.set(accountId, own + 1);
      const fetched = fetchOne(accountId, url);
      fetching.set(url.href, fetched);
      try {
        return await fetched;
      } finally {
        fetching.delete(url.href);
        const left = (ofAccount.get(accountId) ?? 1) - 1;
        if (left === 0) ofAccount.delete(accountId);
        else ofAccount.set(accountId, left);
      }
    },
    close: () => outbound.close(),
  };
}

/** The URL in exactly this form, so that one client has one id. */
function documentUrl(clientId: string, allowLocal: boolean): URL | string {
  const url = clientId.length <= maxUrl ? URL.parse(clientId) : null;
  if (!url || url.href !== clientId) return `client_id must be a URL of at most ${maxUrl} characters, in normal form`;
  if (url.protocol !== "https:" && !allowLocal) return "client_id must be an https URL";
  if (url.username !== "" || url.password !== "" || clientId.includes("#")) {
    return "client_id must not contain credentials or a fragment";
  }
  return url.pathname === "/" ? "client_id must be a URL with a path" : url;
}

function documentOf(
  status: number,
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  body: Buffer,
  url: URL,
): KnownClient | string {
  if (status !== 200) return `the metadata document is answered with status ${status}`;
  if ((headers["content-encoding"] ?? "identity") !== "identity") return "the metadata document is compressed";
  if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(String(headers["content-type"] ?? ""))) {
    return "the metadata document is not JSON";
  }
  const metadata: JsonObject = parseJsonObject(body);
  if (metadata["client_id"] !== url.href) return "the metadata document is about another client_id";
  const method = metadata["token_endpoint_auth_method"] ?? "none";
  if (method !== "none") return "the metadata document requires a token_endpoint_auth_method other than none";
  if (metadata["client_secret"] !== undefined) return "the metadata document has a client_secret";
  return clientIn(metadata, url.host);
}

function cacheMs(control: string): number {
  if (/\bno-(?:store|cache)\b/i.test(control)) return shortestMs;
  const seconds = /\bmax-age=(\d{1,9})\b/i.exec(control)?.[1];
  return seconds === undefined ? usualMs : Math.min(longestMs, Math.max(shortestMs, Number(seconds) * 1000));
}
