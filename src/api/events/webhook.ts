/** Delivery over HTTP, signed as the Standard Webhooks specification says (webhook-id, -timestamp, -signature). */
import { createHmac } from "node:crypto";
import { lookup } from "node:dns";
import type { LookupAddress } from "node:dns";
import { request as requestHttp } from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import { isPublicAddress } from "../../lib/public-address.ts";
import type { Event } from "./event.ts";

export interface Outbound {
  readonly clock: Clock;
  /** Whether events may go to addresses of this network, and without TLS. */
  readonly allowPrivate: boolean;
  /** PEM of authorities that are trusted instead of the system's. */
  readonly ca?: string;
}

const timeoutMs = 5_000;
/** Of an answer nobody reads more; the connection ends with it. */
const maxAnswerBytes = 65_536;

export interface WebhookTarget {
  readonly url: string;
  readonly secret: string;
}

/** Resolves once the receiver has answered 2xx; rejects with why it has not. Redirects are not followed. */
export async function postEvent(target: WebhookTarget, event: Event, outbound: Outbound): Promise<void> {
  const url = new URL(target.url);
  if (url.protocol !== "https:" && !outbound.allowPrivate) throw new Error("the URL must begin with https://");
  const addresses = await resolve(url.hostname.replace(/^\[|\]$/g, ""), outbound.allowPrivate);
  const response = await exchange(url, addresses, headersFor(target, event, outbound.clock.now()), event, outbound);
  if (response < 200 || response > 299) throw new Error(`the receiver answered ${response}`);
}

function headersFor({ secret }: WebhookTarget, { id, body }: Event, nowMs: number): Record<string, string> {
  const seconds = String(Math.floor(nowMs / 1000));
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice(6), "base64") : Buffer.from(secret);
  const signature = createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64");
  return {
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    "user-agent": "postern",
    "webhook-id": id,
    "webhook-timestamp": seconds,
    "webhook-signature": `v1,${signature}`,
  };
}

async function resolve(host: string, allowPrivate: boolean): Promise<readonly LookupAddress[]> {
  const family = isIP(host);
  const found =
    family === 0
      ? await new Promise<LookupAddress[]>((answer, fail) => {
          lookup(host, { all: true }, (error, all) => (error ? fail(error) : answer(all)));
        })
      : [{ address: host, family }];
  const usable = found.filter(({ address }) => allowPrivate || isPublicAddress(address));
  if (usable.length > 0) return usable;
  throw new Error(`"${host}" leads to an address that is not public`);
}

async function exchange(
  url: URL,
  addresses: readonly LookupAddress[],
  headers: Record<string, string>,
  { body }: Event,
  { clock, ca }: Outbound,
): Promise<number> {
  const options = {
    method: "POST",
    agent: false,
    headers,
    // The addresses that were checked, and no others: a second look-up could say something else.
    lookup: (
      _host: string,
      { all }: { readonly all?: boolean },
      answer: (error: null, address: string | LookupAddress[], family?: number) => void,
    ) => {
      const first = addresses[0] as LookupAddress;
      if (all) answer(null, [...addresses]);
      else answer(null, first.address, first.family);
    },
  };
  const request: ClientRequest =
    url.protocol === "https:"
      ? requestHttps(url, { ...options, ...(ca !== undefined && { ca }) } as object)
      : requestHttp(url, options as object);
  const late = clock.after(timeoutMs, () => request.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)));
  try {
    return await new Promise<number>((answer, fail) => {
      request.on("error", fail);
      request.on("response", (response: IncomingMessage) => {
        let length = 0;
        response.on("data", (bytes: Buffer) => {
          length += bytes.length;
          if (length > maxAnswerBytes) request.destroy(new Error("the answer is too long"));
        });
        response.on("error", fail);
        response.on("end", () => answer(response.statusCode ?? 0));
      });
      request.end(body);
    });
  } finally {
    late.cancel();
    request.destroy();
  }
}
