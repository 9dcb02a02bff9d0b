import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { defaultToleranceSeconds, readSingle, checkStaleness } from "./scheme.ts";
import type { WebhookSample, Scheme, WebhookMessage } from "./scheme.ts";
import { parseTime } from "../lib/rfc3339.ts";

/** Describes a signature with a shared secret over parts of the request. Default: hex HMAC-SHA256 of the body. */
export interface HmacOptions {
  /** Prefix of the signature in its header, e.g. `sha256=`. */
  readonly prefix?: string;
  /**
   * Set if the header is a list of `name=value`: the names of the signature, which may be repeated, and of the
   * timestamp.
   */
  readonly pairs?: { readonly signature: string; readonly timestamp?: string };
  /** Separator of several signatures in the header. */
  readonly separator?: "," | " ";
  /** Header of the timestamp, if it is not among `pairs`. */
  readonly timestamp?: string;
  /** Format of the timestamp. Default: seconds. */
  readonly time?: "seconds" | "milliseconds" | "rfc3339";
  readonly toleranceSeconds?: number;
  /** Header of the message's id. */
  readonly id?: string;
  readonly hash?: "sha1" | "sha256" | "sha512";
  readonly encoding?: "hex" | "base64";
  /** Form of the key: the secret's UTF-8 bytes, or decoded from base64 (after `whsec_`). */
  readonly key?: "utf8" | "base64";
  /**
   * Signed text. `{body}`, `{time}`, `{id}`, `{url}`, `{decodedUrl}` and `{method}` are replaced by the request's
   * values.
   */
  readonly over?: string;
  /** Whether a plain hash over the secret and the signed text is used instead of HMAC. */
  readonly plain?: boolean;
}

/** Maximum number of signatures, more than any key rotation needs. */
const maxSignatures = 16;

export function hmacScheme(header: string, options: HmacOptions = {}): Scheme {
  const { pairs, prefix = "", separator, encoding = "hex", toleranceSeconds = defaultToleranceSeconds } = options;
  const parts = (options.over ?? "{body}").split(/(\{\w+\})/).filter((part) => part !== "");
  const timed = options.timestamp !== undefined || pairs?.timestamp !== undefined;

  const digest = (secret: string, message: Omit<WebhookMessage, "headers">, time: string, id: string): Buffer => {
    const hash = options.hash ?? "sha256";
    const sum = options.plain ? createHash(hash).update(secret) : createHmac(hash, keyOf(secret, options.key));
    for (const part of parts) sum.update(valueOf(part, message, time, id));
    return sum.digest();
  };

  const { id: idHeader } = options;
  return {
    isClaimed: (headers) => headers.getAll(header).length > 0,
    ...(idHeader !== undefined && { messageId: ({ headers }) => headers.getAll(idHeader)[0] }),

    verify(secret, message, now) {
      const { headers } = message;
      const found = readSingle(headers, header);
      if ("wrong" in found) return found.wrong;
      const read = readSignatures(found.value, prefix, separator, pairs);
      if (read.signatures.length === 0) return `the header ${header} holds no signature`;
      let { time } = read;
      if (options.timestamp !== undefined) {
        const stamp = readSingle(headers, options.timestamp);
        if ("wrong" in stamp) return stamp.wrong;
        time = stamp.value;
      }
      if (timed) {
        const stale = checkStaleness(readTime(time, options.time), now, toleranceSeconds);
        if (stale) return stale;
      }
      let id = "";
      if (options.id !== undefined) {
        const given = readSingle(headers, options.id);
        if ("wrong" in given) return given.wrong;
        id = given.value;
      }
      const expected = digest(secret, message, time, id);
      let holds = false;
      for (const signature of read.signatures) if (isSame(signature, encoding, expected)) holds = true;
      return holds ? undefined : "the signature is another";
    },

    sign(sample: WebhookSample) {
      const time = timed ? writeTime(sample.now, options.time) : "";
      const id = options.id === undefined ? "" : (sample.id ?? `msg_${sample.now.toString(36)}`);
      const signature = digest(sample.secret, sample, time, id).toString(encoding);
      const value = pairs
        ? [pairs.timestamp && `${pairs.timestamp}=${time}`, `${pairs.signature}=${signature}`].filter(Boolean).join(",")
        : `${prefix}${signature}`;
      return {
        headers: {
          [header]: value,
          ...(options.timestamp !== undefined && { [options.timestamp]: time }),
          ...(options.id !== undefined && { [options.id]: id }),
        },
      };
    },
  };
}

/** Whether `text` equals `expected`, compared in constant time. */
export function isSame(text: string, encoding: "hex" | "base64" | "utf8", expected: Buffer): boolean {
  // Node's decoder ignores invalid characters.
  if (encoding === "hex" && !/^(?:[0-9a-fA-F]{2})+$/.test(text)) return false;
  if (encoding === "base64" && !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return false;
  const given = Buffer.from(text, encoding);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function readSignatures(
  value: string,
  prefix: string,
  separator: string | undefined,
  pairs: HmacOptions["pairs"],
): { readonly signatures: readonly string[]; readonly time: string } {
  const items = (pairs ? value.split(",") : separator === undefined ? [value] : value.split(separator)).map((item) =>
    item.trim(),
  );
  if (!pairs) {
    const own = items.filter((item) => item.startsWith(prefix)).map((item) => item.slice(prefix.length));
    return { signatures: own.filter((item) => item !== "").slice(0, maxSignatures), time: "" };
  }
  const signatures: string[] = [];
  const times: string[] = [];
  for (const item of items) {
    const equals = item.indexOf("=");
    const name = item.slice(0, Math.max(equals, 0));
    if (name === pairs.signature && signatures.length < maxSignatures) signatures.push(item.slice(equals + 1));
    else if (name === pairs.timestamp) times.push(item.slice(equals + 1));
  }
  // With two times, one could be checked and the other signed.
  return { signatures, time: times.length === 1 ? (times[0] as string) : "" };
}

function valueOf(part: string, message: Omit<WebhookMessage, "headers">, time: string, id: string): string | Buffer {
  switch (part) {
    case "{body}":
      return message.body;
    case "{time}":
      return time;
    case "{id}":
      return id;
    case "{url}":
      return message.url;
    case "{decodedUrl}":
      return decodedUrl(message.url);
    case "{method}":
      return message.method;
    default:
      return part;
  }
}

/** Decodes the characters that HubSpot's documentation lists. */
function decodedUrl(url: string): string {
  return url.replace(/%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi, decodeURIComponent);
}

/** Returns the bytes of the key for `secret`. */
export function keyOf(secret: string, kind: HmacOptions["key"]): Buffer {
  if (kind !== "base64") return Buffer.from(secret);
  return Buffer.from(secret.startsWith("whsec_") ? secret.slice(6) : secret, "base64");
}

/** Returns milliseconds since 1970, or NaN if `text` is not a time. */
function readTime(text: string, kind: HmacOptions["time"] = "seconds"): number {
  if (/^[0-9]{1,16}$/.test(text)) return kind === "milliseconds" ? Number(text) : Number(text) * 1000;
  // A time without offset is UTC, regardless of the machine's time zone.
  const time = kind === "rfc3339" ? (parseTime(text) ?? parseTime(`${text}Z`)) : undefined;
  return time ?? Number.NaN;
}

function writeTime(now: number, kind: HmacOptions["time"] = "seconds"): string {
  if (kind === "rfc3339") return new Date(now).toISOString();
  return String(kind === "seconds" ? Math.floor(now / 1000) : now);
}
