import { Resolver } from "node:dns";
import { isIP } from "node:net";
import type { LookupFunction, Socket } from "node:net";
import { connect, createSecureContext, getCACertificates } from "node:tls";
import type { SecureContext, TLSSocket } from "node:tls";
import { Lru } from "../lib/collections/lru.ts";
import { connectThrough } from "./proxy.ts";

/** Time limit for name lookup, proxy, TCP and TLS together, milliseconds. */
const usualTimeoutMs = 10_000;

/** How the agent connects to the server. */
export interface ConnectOptions {
  /** Milliseconds. Default: 10 s. */
  readonly timeoutMs?: number | undefined;
  /** Addresses of the name servers. Default: the system's. */
  readonly dnsServers?: readonly string[];
  /** Returns the proxy for a server, or undefined for a direct connection. */
  readonly proxy?: ((server: ServerAddress) => URL | undefined) | undefined;
  /** Accepts every certificate: only for a connection that reads certificates and sends nothing. */
  readonly anyCertificate?: boolean;
}

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** Parses `host:port`, `host` (port 443) or `[v6]:port`. Throws an `Error` that states the expected form. */
export function parseServerAddress(text: string): ServerAddress {
  const parts = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/\s]+))(?::(\d{1,5}))?$/.exec(text);
  const port = Number(parts?.[3] ?? 443);
  if (!parts || port === 0 || port > 65_535) throw new Error("must be HOST:PORT, with an IPv6 address in brackets");
  return { host: (parts[1] ?? parts[2]) as string, port };
}

/**
 * Opens a TLS connection to the server and verifies its name against `ca` (PEM), or against the system's CAs (G3). The
 * name is resolved for each connection, and all of its addresses are tried (RFC 8305).
 */
export async function connectServer(
  { host, port }: ServerAddress,
  ca: string | undefined,
  signal: AbortSignal,
  { timeoutMs = usualTimeoutMs, dnsServers = [], proxy, anyCertificate = false }: ConnectOptions = {},
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
    const sessions = anyCertificate ? undefined : sessionsOf(ca);
    const at = `${host}:${port}`;
    const session = sessions?.get(at);
    const secure = connect({
      ...(session && { session }),
      ...(socket ? { socket } : { host, port, autoSelectFamily: true }),
      ...(dnsServers.length > 0 && { lookup: lookupWith(dnsServers) }),
      ...(isIP(host) ? { host } : { servername: host }),
      secureContext: contextOf(ca),
      rejectUnauthorized: !anyCertificate,
    });
    opened = secure;
    secure.on("session", (next) => sessions?.set(at, next));
    secure.setNoDelay(true);
    return await completeHandshake(secure);
  };
  const opening = open();
  // The losing side of the race has already been reported.
  opening.catch(() => {});
  failed.catch(() => {});
  try {
    return await Promise.race([opening, failed]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abandon);
  }
}

/** The most recent context. An agent uses a single CA. */
let last: { readonly ca: string | undefined; readonly context: SecureContext } | undefined;

/** The context is shared by all connections: loading the system's CAs takes many times as long as a handshake. */
function contextOf(ca: string | undefined): SecureContext {
  if (!last || last.ca !== ca) {
    const trusted = ca === undefined ? [...getCACertificates("system"), ...getCACertificates("bundled")] : ca;
    last = { ca, context: createSecureContext({ ca: trusted, minVersion: "TLSv1.2" }) };
  }
  return last.context;
}

/** Servers whose last session is kept. An agent has a few. */
const maxSessions = 16;
let resumable = { ca: undefined as string | undefined, sessions: new Lru<string, Buffer>(maxSessions) };

/**
 * Returns the last TLS session with each server, so that a reconnect costs both ends less. A server was verified against
 * `ca` when its session began.
 */
function sessionsOf(ca: string | undefined): Lru<string, Buffer> {
  if (resumable.ca !== ca) resumable = { ca, sessions: new Lru(maxSessions) };
  return resumable.sessions;
}

async function completeHandshake(socket: TLSSocket): Promise<TLSSocket> {
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

/** Resolves names at these servers, for both address families together. */
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
      // RFC 8305 §4: if both families are present, IPv6 is tried first.
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
