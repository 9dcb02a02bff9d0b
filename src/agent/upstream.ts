import { connect as connectTcp, isIP } from "node:net";
import type { LookupFunction, Socket, TcpNetConnectOpts } from "node:net";
import { connect as connectTls } from "node:tls";
import type { TcpReading } from "../lib/io/read-buffers.ts";
import type { LocalService } from "./local-service.ts";

/** The service that the agent publishes; the only place it ever dials besides the server (G4). */
export interface Upstream {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** It speaks HTTP/2 with prior knowledge, in TLS or without. */
  readonly http2?: boolean;
  /** Path of a unix socket, instead of host and port. */
  readonly socketPath?: string;
  /** Whether the certificate of a service on this machine is verified as well; that of any other always is. */
  readonly verify?: boolean;
  /** Name that its certificate must have, and that is asked for; the host unless given. */
  readonly serverName?: string;
  /** PEM of the authorities that its certificate must be from; the system's unless given. */
  readonly ca?: string;
  /** The agent is the service itself: nothing is dialled. */
  readonly local?: LocalService;
  /** As shown to people and to the server: `http://localhost:3000`. */
  readonly text: string;
}

/** What `sockaddr_un` has room for everywhere. */
const maxSocketPath = 103;
/** How long a connection to the upstream may take to come about, milliseconds. */
const dialTimeoutMs = 10_000;

/**
 * Reads `3000`, `host:3000`, `http://host:3000` or `https://host`; without a port, 80 and 443. `h2c://` is HTTP/2 without
 * TLS, and `unix:/path` a socket; `https://` alone is this machine. Throws `Error` with what it must be.
 */
export function parseUpstream(given: string): Upstream {
  if (/^unix:/i.test(given)) return parseSocket(given);
  const http2 = /^h2c:\/\//i.test(given);
  const issue = new Error("must be PORT, HOST:PORT or an http:// or https:// URL without a path");
  const text = given.replace(/^h2c:/i, "http:").replace(/:\/\/$/, "://localhost");
  const url = URL.parse(
    /^\d+$/.test(text) ? `http://localhost:${text}` : text.includes("://") ? text : `http://${text}`,
  );
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:") || url.hostname === "") throw issue;
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "")
    throw issue;
  const tls = url.protocol === "https:";
  const port = url.port === "" ? (tls ? 443 : 80) : Number(url.port);
  if (port === 0) throw issue;
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port,
    tls,
    ...(http2 && { http2 }),
    text: `${http2 ? "h2c:" : url.protocol}//${url.hostname}:${port}`,
  };
}

/** `unix:/run/app.sock`, also with `//` before the path. */
function parseSocket(given: string): Upstream {
  const path = given.replace(/^unix:(?:\/\/(?=\/))?/i, "");
  if (!path.startsWith("/") || Buffer.byteLength(path) > maxSocketPath) {
    throw new Error(`must be unix: and an absolute path of at most ${maxSocketPath} bytes`);
  }
  return { host: "localhost", port: 0, tls: false, socketPath: path, text: `unix:${path}` };
}

/**
 * Reads `5432`, `host:5432` or `tcp://host:5432`, or `tls://` likewise, or `unix:/path`. Throws `Error` with what it must
 * be.
 */
export function parseTcpUpstream(given: string, scheme: "tcp" | "tls"): Upstream {
  if (/^unix:/i.test(given)) return parseSocket(given);
  const text = /^\d+$/.test(given) ? `localhost:${given}` : given;
  const url = URL.parse(text.includes("://") ? text : `${scheme}://${text}`);
  const isBare = url && ["", "/"].includes(url.pathname) && url.search === "" && url.hash === "" && url.username === "";
  const port = Number(url?.port ?? 0);
  if (!isBare || url.protocol !== `${scheme}:` || url.hostname === "" || port === 0) {
    throw new Error(`must be PORT, HOST:PORT or ${scheme}://HOST:PORT`);
  }
  // TLS is passed through to the service: what is dialled is a bare connection either way.
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return { host, port, tls: false, text: `${scheme}://${url.hostname}:${port}` };
}

/**
 * Opens a connection; the socket tells of its success by `connect`, or `secureConnect` with TLS.
 * @param reading how the socket reads, unless it is in TLS
 */
export function dialUpstream(upstream: Upstream, reading?: TcpReading): Socket {
  const { host, port, socketPath, verify = false, ca, serverName = isIP(host) ? undefined : host } = upstream;
  const options = {
    ...(socketPath === undefined ? { host, port } : { path: socketPath }),
    noDelay: true,
    allowHalfOpen: true,
    ...(host === "localhost" && socketPath === undefined
      ? // A loopback address answers or refuses; that it takes its time says that this process is busy, not that
        // the other one should be tried.
        { lookup: lookupLocalhost, autoSelectFamilyAttemptTimeout: dialTimeoutMs }
      : {}),
  };
  const socket = upstream.tls
    ? connectTls({
        ...options,
        ALPNProtocols: [upstream.http2 ? "h2" : "http/1.1"],
        ...(serverName !== undefined && { servername: serverName }),
        ...(ca !== undefined && { ca }),
        // Nobody can be in between on the loopback, and certificates for it are mostly self-signed.
        rejectUnauthorized: verify || ca !== undefined || !isLoopback(host),
      })
    : connectTcp({ ...options, ...reading } as TcpNetConnectOpts);
  socket.setTimeout(dialTimeoutMs, () => socket.destroy(new Error(`no connection within ${dialTimeoutMs / 1000} s`)));
  socket.once(upstream.tls ? "secureConnect" : "connect", () => socket.setTimeout(0));
  return socket;
}

/** Both loopback addresses, without asking a resolver for each connection. */
const lookupLocalhost: LookupFunction = (_host, options, done) => {
  const addresses = [
    { address: "127.0.0.1", family: 4 },
    { address: "::1", family: 6 },
  ];
  if (options.all) done(null, addresses);
  else done(null, "127.0.0.1", 4);
};

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}
