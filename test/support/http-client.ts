/** One request over either version of HTTP, on the caller's TLS connection. All rungs of tests use it. */
import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import type { IncomingHttpHeaders as Http2Headers } from "node:http2";
import { request as requestHttps } from "node:https";
import { connect as connectTcp } from "node:net";
import { connect as connectTls, createSecureContext } from "node:tls";
import type { ConnectionOptions, SecureContext, TLSSocket } from "node:tls";

export const protocols = ["h1", "h2"] as const;
export type Protocol = (typeof protocols)[number];

export interface Asked {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The body as UTF-8. */
  readonly text: string;
  /** Request ID that the visitor received. */
  readonly id: string;
}

export interface AskOptions {
  readonly method?: string;
  /** Path and query. */
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
  /** Server name, and Host or `:authority`. */
  readonly host: string;
  /** Server name, if it differs from the host. */
  readonly serverName?: string;
  /** Source address, in 127.0.0.0/8. */
  readonly source?: string;
  /** Sent on the connection before TLS begins. */
  readonly preface?: string;
  /** Additional options for the TLS handshake. */
  readonly tls?: ConnectionOptions;
}

const contexts = new Map<string, SecureContext>();

/**
 * Returns the secure context of clients that trust this authority. Cached, because creation takes nearly as long as a
 * handshake.
 */
export function trusting(ca: string): SecureContext {
  let context = contexts.get(ca);
  if (context === undefined) contexts.set(ca, (context = createSecureContext({ ca })));
  return context;
}

/** Opens a TLS connection to a loopback port and offers `alpn`. */
export async function connectOver(
  alpn: readonly string[],
  port: number,
  ca: string,
  options: Pick<AskOptions, "host" | "serverName" | "source" | "preface" | "tls">,
): Promise<TLSSocket> {
  const bare = connectTcp({
    host: "127.0.0.1",
    port,
    ...(options.source !== undefined && { localAddress: options.source }),
  });
  if (options.preface !== undefined) bare.write(options.preface);
  await once(bare, "connect");
  const socket = connectTls({
    socket: bare,
    servername: options.serverName ?? options.host,
    ...(options.tls === undefined ? { secureContext: trusting(ca) } : { ca }),
    ALPNProtocols: [...alpn],
    ...options.tls,
  } as ConnectionOptions);
  await new Promise((done, failed) => {
    socket.once("secureConnect", done).once("error", failed);
    socket.once("close", () => failed(new Error("the connection was closed in its handshake")));
  });
  return socket;
}

/** Returns the version's name in ALPN. */
export function alpnOf(protocol: Protocol): string {
  return protocol === "h2" ? "h2" : "http/1.1";
}

/** Sends one request on a new connection to a loopback port. Rejects if the connection ends without a response. */
export async function askOver(protocol: Protocol, port: number, ca: string, options: AskOptions): Promise<Asked> {
  const socket = await connectOver([alpnOf(protocol)], port, ca, options);
  try {
    return protocol === "h1" ? await overHttp1(socket, options) : await overHttp2(socket, options);
  } finally {
    socket.destroy();
  }
}

export async function readBody(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function overHttp1(socket: TLSSocket, options: AskOptions): Promise<Asked> {
  const { method = "GET", path = "/", headers = {}, body, host } = options;
  const outgoing = requestHttps({
    createConnection: () => socket,
    method,
    path,
    headers: {
      host,
      ...(headers as Record<string, string>),
      ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
    },
  });
  outgoing.on("error", () => {});
  const answered = Promise.race([once(outgoing, "response"), failureOf(outgoing)]);
  outgoing.end(body);
  const [response] = (await answered) as [IncomingMessage];
  return asked(response.statusCode ?? 0, response.headers, await readBody(response));
}

async function overHttp2(socket: TLSSocket, options: AskOptions): Promise<Asked> {
  const { method = "GET", path = "/", headers = {}, body, host } = options;
  const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
  session.on("error", () => {});
  const stream = session.request(
    {
      ":method": method,
      ":path": path,
      ":authority": host,
      ...headers,
      ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
    },
    { endStream: body === undefined },
  );
  const answered = Promise.race([once(stream, "response"), failureOf(stream)]);
  if (body !== undefined) stream.end(body);
  const [fields] = (await answered) as [Http2Headers];
  try {
    return asked(Number(fields[":status"] ?? 0), fields, await readBody(stream as AsyncIterable<Buffer>));
  } finally {
    session.destroy();
  }
}

function asked(status: number, headers: IncomingHttpHeaders, body: Buffer): Asked {
  return { status, headers, body, text: body.toString(), id: String(headers["x-request-id"] ?? "") };
}

/** Rejects if the emitter fails or closes without an event. */
async function failureOf(emitter: NodeJS.EventEmitter): Promise<never> {
  const [error] = (await Promise.race([once(emitter, "error"), once(emitter, "close")])) as [Error | undefined];
  throw error ?? new Error("closed without a response");
}
