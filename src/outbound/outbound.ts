/** Requests to receivers of events, within the bounds that hold for addresses a tenant chose (security I7). */
import { lookup } from "node:dns";
import type { LookupAddress } from "node:dns";
import { Agent as PlainAgent, request as requestHttp } from "node:http";
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Agent as TlsAgent, request as requestHttps } from "node:https";
import { isIP } from "node:net";
import type { LookupFunction } from "node:net";
import type { Clock } from "../lib/clock.ts";
import { isPublicAddress } from "../lib/public-address.ts";

export interface OutboundOptions {
  readonly clock: Clock;
  /** Whether requests may go to addresses of this network, and without TLS. */
  readonly allowPrivate: boolean;
  /** PEM of authorities that are trusted instead of the system's. */
  readonly ca?: string;
}

export interface OutboundRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface OutboundAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Connections of one destination; they are kept for a moment and used again. */
export interface Outbound {
  readonly clock: Clock;
  /** Resolves with any answer. Rejects with why there is none; redirects are answers. */
  post(request: OutboundRequest): Promise<OutboundAnswer>;
  close(): void;
}

const timeoutMs = 10_000;
const maxAnswerBytes = 256 * 1024;
const maxConnections = 16;
/** Less than the five seconds after which many servers close an idle connection. */
const idleMs = 4_000;

export function openOutbound({ clock, allowPrivate, ca }: OutboundOptions): Outbound {
  const kept = { keepAlive: true, maxSockets: maxConnections, maxFreeSockets: maxConnections, timeout: idleMs };
  const tls = new TlsAgent(kept);
  const plain = new PlainAgent(kept);
  const lookupChecked = checkedLookup(allowPrivate);

  /** @param fresh over a connection of its own */
  const attempt = async ({ url, headers, body }: OutboundRequest, fresh: boolean): Promise<OutboundAnswer> => {
    const options = {
      method: "POST",
      headers: { ...headers, "content-length": String(Buffer.byteLength(body)), "user-agent": "postern" },
      lookup: lookupChecked,
    };
    const request: ClientRequest =
      url.protocol === "https:"
        ? requestHttps(url, { ...options, agent: fresh ? false : tls, ...(ca !== undefined && { ca }) })
        : requestHttp(url, { ...options, agent: fresh ? false : plain });
    const late = clock.after(timeoutMs, () => request.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)));
    try {
      return await new Promise<OutboundAnswer>((answer, fail) => {
        // The agent's time-out is for idle connections; an answer may take longer.
        request.on("socket", (socket) => socket.setTimeout(0));
        request.on("error", (error) => fail(request.reusedSocket ? new StaleConnection(error) : error));
        request.on("response", (response) => read(response, answer, fail));
        request.end(body);
      });
    } finally {
      late.cancel();
    }
  };
  return {
    clock,
    async post(request) {
      const { url } = request;
      if (url.protocol !== "https:" && !(allowPrivate && url.protocol === "http:")) {
        throw new Error("the URL must begin with https://");
      }
      const host = url.hostname.replace(/^\[|\]$/g, "");
      if (isIP(host) !== 0 && !allowPrivate && !isPublicAddress(host)) throw notPublic(host);
      try {
        return await attempt(request, false);
      } catch (error) {
        // The receiver may close a kept connection at the moment at which it is used again.
        if (!(error instanceof StaleConnection)) throw error;
        return await attempt(request, true);
      }
    },
    close() {
      tls.destroy();
      plain.destroy();
    },
  };
}

class StaleConnection extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}

function read(response: IncomingMessage, answer: (value: OutboundAnswer) => void, fail: (error: Error) => void): void {
  const pieces: Buffer[] = [];
  let length = 0;
  response.on("data", (bytes: Buffer) => {
    length += bytes.length;
    if (length > maxAnswerBytes) response.destroy(new Error("the answer is too long"));
    else pieces.push(bytes);
  });
  response.on("error", fail);
  response.on("end", () =>
    answer({ status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(pieces).toString() }),
  );
}

/** Connects to addresses that were checked, and no others: a second look-up could say something else. */
function checkedLookup(allowPrivate: boolean): LookupFunction {
  return (host, { all }, answer) => {
    lookup(host, { all: true }, (error, found) => {
      if (error) return answer(error, "");
      const usable = found.filter(({ address }) => allowPrivate || isPublicAddress(address));
      const first = usable[0];
      if (!first) answer(notPublic(host), "");
      else if (all) answer(null, usable as LookupAddress[]);
      else answer(null, first.address, first.family);
    });
  };
}

function notPublic(host: string): NodeJS.ErrnoException {
  return new Error(`"${host}" leads to an address that is not public`);
}
