/** `fetch` for clients of other makers, with streams over either version of HTTP. */
import { connect as connectHttp2 } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { request as requestHttps } from "node:https";
import { Readable } from "node:stream";
import { trusting } from "./http-client.ts";
import type { Protocol } from "./http-client.ts";

type Headers_ = Readonly<Record<string, string>>;
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** `fetch` whose names lead to this machine. Responses are read as they arrive. */
export function localFetch(ca: string, http: Protocol): { readonly fetch: Fetch; close(): void } {
  const sessions = new Map<string, ClientHttp2Session>();
  const open = new AbortController();
  const fetch: Fetch = async (given, init = {}) => {
    const url = new URL(given);
    const headers = Object.fromEntries(new Headers(init.headers));
    const body = init.body ? await new Response(init.body).text() : undefined;
    const signals = [open.signal, ...(init.signal ? [init.signal] : [])];
    const sent = { url, headers, method: init.method ?? "GET", body, signal: AbortSignal.any(signals) };
    return http === "h1" ? await overHttp1(sent, ca) : await overHttp2(sent, ca, sessions);
  };
  return {
    fetch,
    close() {
      open.abort();
      for (const session of sessions.values()) session.destroy();
    },
  };
}

interface Sent {
  readonly url: URL;
  readonly headers: Headers_;
  readonly method: string;
  readonly body: string | undefined;
  readonly signal: AbortSignal;
}

function responseOf(
  status: number,
  fields: Readonly<Record<string, number | string | string[] | undefined>>,
  body: Readable,
): Response {
  const headers = new Headers();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined && !name.startsWith(":")) headers.set(name, String(value));
  }
  body.on("error", () => {});
  const isEmpty = status === 204 || status === 304 || status === 202;
  return new Response(isEmpty ? null : (Readable.toWeb(body) as ReadableStream<Uint8Array>), { status, headers });
}

function overHttp1({ url, headers, method, body, signal }: Sent, ca: string): Promise<Response> {
  return new Promise((resolve, reject) => {
    const { hostname, port, pathname, search, host } = url;
    const place = { host: "127.0.0.1", port, servername: hostname, path: pathname + search };
    const trust = { secureContext: trusting(ca), agent: false, signal };
    const request = requestHttps({ ...place, ...trust, method, headers: { host, ...headers } });
    request.on("error", reject);
    request.on("response", (response) => {
      if (response.statusCode === 202 || response.statusCode === 204) response.resume();
      resolve(responseOf(response.statusCode ?? 0, response.headers, response));
    });
    request.end(body);
  });
}

function overHttp2(
  { url, headers, method, body, signal }: Sent,
  ca: string,
  sessions: Map<string, ClientHttp2Session>,
) {
  let session = sessions.get(url.host);
  if (!session || session.closed || session.destroyed) {
    session = connectHttp2(`https://127.0.0.1:${url.port}`, { servername: url.hostname, ca });
    session.on("error", () => {});
    sessions.set(url.host, session);
  }
  const { pathname, search, host } = url;
  const fields = { ":method": method, ":path": pathname + search, ":authority": host, ...headers };
  const stream = session.request(fields, { signal });
  return new Promise<Response>((resolve, reject) => {
    stream.on("error", reject);
    stream.on("response", (answer) => resolve(responseOf(answer[":status"] ?? 0, answer, stream)));
    stream.end(body);
  });
}
