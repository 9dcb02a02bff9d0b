import { captureWork } from "../lib/heartbeat.ts";
import { createVerify, X509Certificate } from "node:crypto";
import { systemClock } from "../lib/clock.ts";
import { openOutbound } from "../outbound/outbound.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { checkStaleness } from "./scheme.ts";
import type { Scheme } from "./scheme.ts";
import { parseJson } from "./special.ts";
import { parseTime } from "../lib/rfc3339.ts";

/** Signed fields by type of message, in this order (Amazon SNS developer guide, "Verifying signatures"). */
const signedFields: Readonly<Record<string, readonly string[]>> = {
  Notification: ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"],
  SubscriptionConfirmation: ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
  UnsubscribeConfirmation: ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
};

/** SNS retries a delivery for about an hour, with the original publishing time. */
const toleranceSeconds = 3600;
const maxCertificateBytes = 16 * 1024;
const fetchTimeoutMs = 5000;
const maxCertificates = 64;
const maxFetches = 4;
const failureLifeMs = 60_000;

/** Accept only certificates from Amazon: anyone can sign with a key and name a URL for it. */
const certificateUrl =
  /^https:\/\/sns\.[a-z0-9-]{1,32}\.amazonaws\.com(?:\.cn)?\/SimpleNotificationService-[0-9a-f]{1,64}\.pem$/;

/** Resolves with the PEM at a URL. */
export type FetchCertificate = (url: string) => Promise<string>;

/** @param fetchCertificate called only for SNS URLs; limits its own size and time */
export function snsScheme(fetchCertificate: FetchCertificate = (url) => downloadCertificate(url)): Scheme {
  const certificates = makeCache(fetchCertificate);
  return {
    isClaimed: () => true,
    async verify(_secret, { body }, now) {
      const inSameWork = captureWork();
      const claim = readClaim(body, now);
      if (typeof claim === "string") return claim;
      const { signed, version, signature } = claim;
      const certificate = inSameWork(await certificates.get(claim.url, now));
      if (!certificate) return "the signing certificate could not be fetched";
      if (now < certificate.validFromDate.getTime() || now > certificate.validToDate.getTime()) {
        return "the signing certificate is not valid now";
      }
      const check = createVerify(version === "1" ? "sha1" : "sha256").update(signed);
      return check.verify(certificate.publicKey, signature, "base64") ? undefined : "the signature is another";
    },
    sign() {
      throw new Error("sign for sns: only Amazon has the key");
    },
    messageId({ body }) {
      return String((parseJson(body) as Record<string, unknown> | undefined)?.["MessageId"]);
    },
    wouldFetch({ body }, now) {
      const claim = readClaim(body, now);
      return typeof claim === "string" || certificates.has(claim.url, now) ? undefined : claim.url;
    },
  };
}

/** Returns the topic of a message. The signature covers it. */
export function topicOf(body: Buffer): string | undefined {
  const topic = (parseJson(body) as Record<string, unknown> | undefined)?.["TopicArn"];
  return typeof topic === "string" ? topic : undefined;
}

/** Returns the signature's parts in a message, or the problem that prevents verification. */
function readClaim(
  body: Buffer,
  now: number,
): string | { readonly signed: string; readonly version: "1" | "2"; readonly signature: string; readonly url: string } {
  const message = parseJson(body) as Record<string, unknown> | undefined;
  if (!message) return "the body is not a JSON object";
  if (hasRepeatedKey(body.toString())) return "the body has a name twice";
  const fields = signedFields[String(message["Type"])];
  if (!fields) return "the body's Type is not an SNS type";
  let signed = "";
  for (const name of fields) {
    const value = message[name];
    if (value === undefined && name === "Subject") continue;
    if (typeof value !== "string") return `the body's ${name} is not a string`;
    signed += `${name}\n${value}\n`;
  }
  const stale = checkStaleness(parseTime(String(message["Timestamp"])) ?? Number.NaN, now, toleranceSeconds);
  if (stale) return stale;
  const { SignatureVersion: version, Signature: signature, SigningCertURL: url } = message;
  if (typeof url !== "string" || !certificateUrl.test(url)) return "SigningCertURL is not an SNS URL";
  if (typeof signature !== "string" || (version !== "1" && version !== "2"))
    return "the signature's version is unknown";
  return { signed, version, signature, url };
}

/** Certificates by URL, each fetched once. Failures are cached for a while. */
function makeCache(fetchCertificate: FetchCertificate) {
  interface Fetched {
    readonly at: number;
    failed: boolean;
    readonly certificate: Promise<X509Certificate | undefined>;
  }
  const known = new Map<string, Fetched>();
  let fetching = 0;
  const present = (url: string, now: number): Fetched | undefined => {
    const fetched = known.get(url);
    return fetched?.failed === true && now - fetched.at >= failureLifeMs ? undefined : fetched;
  };
  return {
    has: (url: string, now: number): boolean => present(url, now) !== undefined,
    async get(url: string, now: number): Promise<X509Certificate | undefined> {
      const had = present(url, now);
      if (had) return had.certificate;
      if (fetching >= maxFetches) return undefined;
      fetching += 1;
      const certificate = fetchCertificate(url)
        .then((pem) => new X509Certificate(pem))
        .catch(() => {
          fetched.failed = true;
          return undefined;
        })
        .finally(() => (fetching -= 1));
      const fetched: Fetched = { at: now, failed: false, certificate };
      if (known.size >= maxCertificates) known.delete(known.keys().next().value as string);
      known.set(url, fetched);
      return certificate;
    },
  };
}

let kept: Outbound | undefined;

/** Created on first use, because few servers accept SNS messages. */
function makeOutbound(): Outbound {
  kept ??= openOutbound({
    purpose: "webhooks",
    clock: systemClock,
    reach: "public",
    timeoutMs: fetchTimeoutMs,
    maxAnswerBytes: maxCertificateBytes,
    keepsConnections: false,
  });
  return kept;
}

/** Returns the text at `url` if the status is 200 (control I7). */
export async function downloadCertificate(url: string, outbound = makeOutbound()): Promise<string> {
  const inSameWork = captureWork();
  const { status, text } = inSameWork(await outbound.send({ method: "GET", url: new URL(url) }));
  if (status !== 200) throw new Error(`fetch "${url}": the answer is ${status}`);
  return text;
}

/**
 * Whether a name is repeated at the top level of valid JSON. Parsers choose different values, and the upstream must use
 * the verified one.
 */
function hasRepeatedKey(json: string): boolean {
  const seen = new Set<string>();
  let depth = 0;
  for (const [token, string, after] of json.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\]]/gs)) {
    if (string === undefined) depth += token === "{" || token === "[" ? 1 : -1;
    else if (after !== undefined && depth === 1) {
      const name = String(JSON.parse(string));
      if (seen.has(name)) return true;
      seen.add(name);
    }
  }
  return false;
}
