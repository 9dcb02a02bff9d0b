/**
 * The only way in which this server sends requests itself. They are limited in time, size and connections. They reach
 * checked addresses only, follow no redirects and decode no compressed content (security I7).
 */
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Agent as TlsAgent, request as requestHttps } from "node:https";
import { isIP } from "node:net";
import { Agent as PlainAgent, request as requestHttp } from "../lib/http.ts";
import type { Clock } from "../lib/clock.ts";
import { GatheredBytes } from "../lib/gathered-bytes.ts";
import { isPublicAddress } from "../lib/public-address.ts";
import { makeCheckedLookup } from "./address-rules.ts";
import type { AddressRule } from "./address-rules.ts";
import { countOutbound } from "./outbound-counters.ts";
import type { OutboundPurpose } from "./outbound-counters.ts";

export interface OutboundOptions {
  readonly purpose: OutboundPurpose;
  readonly clock: Clock;
  /**
   * Allowed destinations: public addresses over HTTPS; any address over HTTPS, for URLs from the operator; or any
   * address, also without TLS, if the operator lets tenants' URLs reach internal addresses.
   */
  readonly reach: "public" | "any_https" | "any";
  /** PEM of CAs that replace the system's. */
  readonly ca?: string | undefined;
  /** Maximum time until the response is complete, milliseconds. Default: 10 s. */
  readonly timeoutMs?: number;
  /** Maximum size of a response. Default: 256 KiB. */
  readonly maxAnswerBytes?: number;
  /** Whether connections are kept open for a moment and reused. Default: true. */
  readonly keepsConnections?: boolean;
  /** Maximum number of connections to one host. Default: 16. */
  readonly maxConnections?: number;
  /** Aborts open requests. */
  readonly signal?: AbortSignal;
  /** Like `OutboundRequest.asker`, for all requests. */
  readonly asker?: string;
}

export interface OutboundRequest {
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** A list is one body in pieces. */
  readonly body?: string | Uint8Array | readonly Uint8Array[] | undefined;
  /** Maximum time until the response is complete, milliseconds. Default: the client's. */
  readonly timeoutMs?: number;
  /** Account, or another name, whose share of name lookups this request uses. Default: the purpose. */
  readonly asker?: string;
}

export interface OutboundAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The body as UTF-8. */
  readonly text: string;
  /** IP address of the responding server. */
  readonly address: string;
}

export interface Outbound {
  readonly clock: Clock;
  /** Resolves with any response, including redirects. Rejects with the reason if there is none. */
  send(request: OutboundRequest): Promise<OutboundAnswer>;
  /** Closes kept connections. */
  close(): void;
}

const defaultTimeoutMs = 10_000;
const defaultMaxAnswerBytes = 256 * 1024;
const usualMaxConnections = 16;
/** Less than the five seconds after which many servers close an idle connection. */
const idleMs = 4_000;

export function openOutbound(options: OutboundOptions): Outbound {
  const { purpose, clock, reach, ca, signal, keepsConnections = true } = options;
  const { maxAnswerBytes = defaultMaxAnswerBytes, maxConnections = usualMaxConnections } = options;
  const kept = { keepAlive: true, maxSockets: maxConnections, maxFreeSockets: usualMaxConnections, timeout: idleMs };
  const tls = keepsConnections && new TlsAgent(kept);
  const plain = keepsConnections && new PlainAgent(kept);
  const mayConnect: AddressRule = reach === "public" ? isPublicAddress : () => true;
  const usualLookup = makeCheckedLookup(options.asker ?? purpose, mayConnect, notPublic);

  /** @param isFresh whether to use a new connection */
  const attempt = async (
    { method, url, headers, body, asker, timeoutMs = options.timeoutMs ?? defaultTimeoutMs }: OutboundRequest,
    isFresh: boolean,
  ): Promise<OutboundAnswer> => {
    const shared = {
      method,
      headers: {
        ...headers,
        ...(body !== undefined && { "content-length": String(lengthOf(body)) }),
        "user-agent": "postern",
      },
      lookup: asker === undefined ? usualLookup : makeCheckedLookup(asker, mayConnect, notPublic),
      ...(signal && { signal }),
    };
    const request: ClientRequest =
      url.protocol === "https:"
        ? requestHttps(url, { ...shared, agent: isFresh ? false : tls, ...(ca !== undefined && { ca }) })
        : requestHttp(url, { ...shared, agent: isFresh ? false : plain });
    const timer = clock.after(timeoutMs, () => request.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)));
    try {
      return await new Promise<OutboundAnswer>((resolve, reject) => {
        // The agent's timeout is for idle connections. A response may take longer.
        request.on("socket", (socket) => socket.setTimeout(0));
        request.on("error", (error) => reject(isStale(request, error) ? new StaleConnection(error) : error));
        request.on("response", (response) => {
          // Nothing reads the body after the answer: the caller may write into its memory.
          response.on("end", () => request.writableFinished || request.destroy());
          readBody(response, maxAnswerBytes, resolve, reject);
        });
        if (!isInPieces(body)) request.end(body);
        else {
          for (const piece of body) request.write(piece);
          request.end();
        }
      });
    } finally {
      timer.cancel();
    }
  };
  const send = async (request: OutboundRequest): Promise<OutboundAnswer> => {
    const { url } = request;
    if (url.protocol !== "https:" && !(reach === "any" && url.protocol === "http:")) {
      throw new Error("the URL must begin with https://");
    }
    const host = url.hostname.replace(/^\[|\]$/g, "");
    if (isIP(host) !== 0 && !mayConnect(host)) throw notPublic(host);
    try {
      return await attempt(request, false);
    } catch (error) {
      // The receiver may close a kept connection just when it is reused.
      if (!(error instanceof StaleConnection)) throw error;
      return await attempt(request, true);
    }
  };
  return {
    clock,
    async send(request) {
      try {
        const answer = await send(request);
        countOutbound(purpose, "answered");
        return answer;
      } catch (error) {
        countOutbound(purpose, "failed");
        throw error;
      }
    },
    close() {
      if (tls) tls.destroy();
      if (plain) plain.destroy();
    },
  };
}

/** Rejection of `send` if the response is larger than allowed. */
export class AnswerTooLong extends Error {
  constructor() {
    super("the answer is too long");
  }
}

/** Whether the receiver had closed a kept connection. Our own errors have no such code. */
function isStale({ reusedSocket }: ClientRequest, { code }: NodeJS.ErrnoException): boolean {
  return reusedSocket && (code === "ECONNRESET" || code === "EPIPE");
}

function isInPieces(body: OutboundRequest["body"]): body is readonly Uint8Array[] {
  return Array.isArray(body);
}

function lengthOf(body: NonNullable<OutboundRequest["body"]>): number {
  return isInPieces(body) ? body.reduce((sum, { length }) => sum + length, 0) : Buffer.byteLength(body);
}

class StaleConnection extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}

function readBody(
  response: IncomingMessage,
  maxBytes: number,
  resolve: (value: OutboundAnswer) => void,
  reject: (error: Error) => void,
): void {
  const pieces = new GatheredBytes();
  // A socket that has already closed has no address.
  const address = response.socket.remoteAddress ?? "";
  response.on("data", (bytes: Buffer) => {
    if (pieces.length + bytes.length > maxBytes) response.destroy(new AnswerTooLong());
    else pieces.add(bytes);
  });
  response.on("error", reject);
  response.on("end", () => {
    const body = pieces.join();
    resolve({
      status: response.statusCode ?? 0,
      headers: response.headers,
      body,
      address,
      get text() {
        return body.toString();
      },
    });
  });
}

function notPublic(host: string): NodeJS.ErrnoException {
  return new Error(`"${host}" leads to an address that is not public`);
}
