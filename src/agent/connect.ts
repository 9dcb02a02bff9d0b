import { Resolver } from "node:dns";
import { isIP } from "node:net";
import type { LookupFunction, Socket } from "node:net";
import { connect, createSecureContext, getCACertificates } from "node:tls";
import type { SecureContext, TLSSocket } from "node:tls";
import { connectThrough } from "./proxy.ts";

/** Time for name lookup, proxy, TCP and TLS together, milliseconds. */
const usualTimeoutMs = 10_000;

/** The way to the server. */
export interface ConnectOptions {
  /** 10 s unless given, milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** Addresses of the name servers that are asked; the system's unless there are some. */
  readonly dnsServers?: readonly string[];
  /** The proxy that leads to a server; undefined: none. */
  readonly proxy?: ((server: ServerAddress) => URL | undefined) | undefined;
}

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** Reads `host:port`, `host` (port 443) or `[v6]:port`. Throws `Error` with what it must be. */
export function parseServerAddress(given: string): ServerAddress {
  const parts = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/\s]+))(?::(\d{1,5}))?$/.exec(given);
  const port = Number(parts?.[3] ?? 443);
  if (!parts || port === 0 || port > 65_535) throw new Error("must be HOST:PORT, with an IPv6 address in brackets");
  return { host: (parts[1] ?? parts[2]) as string, port };
}

/**
 * A TLS connection to the server, its name verified against the CA `ca` (PEM) or, without one, the system's (G3).
 * The name is looked up anew for each connection, and all of its addresses are tried (RFC 8305).
 */
export async function connectServer(
  { host, port }: ServerAddress,
  ca: string | undefined,
  signal: AbortSignal,
  { timeoutMs = usualTimeoutMs, dnsServers = [], proxy }: ConnectOptions = {},
): Promise<TLSSocket> {
  signal.throwIfAborted();
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  let opened: Socket | undefined;
  const abort = (error: Error): void => {
    fail(error);
    opened?.destroy();
  };
  const abandon = (): void => abort(new Error("given up"));
  signal.addEventListener("abort", abandon, { once: true });
  const timer = setTimeout(() => abort(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs);
  const open = async (): Promise<TLSSocket> => {
    const through = proxy?.({ host, port });
    const socket = through && (await connectThrough(through, { host, port }, (one) => (opened = one)));
    const secure = connect({
      ...(socket ? { socket } : { host, port, autoSelectFamily: true }),
      ...(dnsServers.length > 0 && { lookup: lookupWith(dnsServers) }),
      ...(isIP(host) ? { host } : { servername: host }),
      secureContext: contextOf(ca),
      rejectUnauthorized: true,
    });
    opened = secure;
    secure.setNoDelay(true);
    return await handshake(secure);
  };
  const opening = open();
  // Whichever is left behind has been told already.
  opening.catch(() => {});
  failed.catch(() => {});
  try {
    return await Promise.race([opening, failed]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abandon);
  }
}

/** That of the CA that was asked for last: an agent has one. */
let last: { readonly ca: string | undefined; readonly context: SecureContext } | undefined;

/** Made once for all connections: reading the system's CAs takes many times as long as a handshake. */
function contextOf(ca: string | undefined): SecureContext {
  if (!last || last.ca !== ca) {
    const trusted = ca === undefined ? [...getCACertificates("system"), ...getCACertificates("bundled")] : ca;
    last = { ca, context: createSecureContext({ ca: trusted, minVersion: "TLSv1.2" }) };
  }
  return last.context;
}

async function handshake(socket: TLSSocket): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  socket.once("error", reject);
  socket.once("close", () => reject(new Error("the server closed the connection")));
  socket.once("secureConnect", () => resolve(socket));
  try {
    return await promise;
  } finally {
    socket.removeListener("error", reject);
  }
}

/** Looks names up at these servers, both families at once. */
function lookupWith(servers: readonly string[]): LookupFunction {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  resolver.setServers(servers);
  return (host, options, done) => {
    let left = 2;
    const found: { readonly address: string; readonly family: number }[] = [];
    const answered = (family: number) => (error: Error | null, addresses: string[] | undefined) => {
      left -= 1;
      found.push(...(addresses ?? []).map((address) => ({ address, family })));
      if (left > 0) return;
      // RFC 8305 §4: the newer family is tried first, wherever both are.
      found.sort((a, b) => b.family - a.family);
      const [first] = found;
      if (!first) done(error ?? new Error(`there is no address of ${host}`), []);
      else if (options.all) done(null, found);
      else done(null, first.address, first.family);
    };
    resolver.resolve4(host, answered(4));
    resolver.resolve6(host, answered(6));
  };
}
