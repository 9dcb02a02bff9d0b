import { connect as connectTcp, isIP } from "node:net";
import type { LookupFunction, Socket, TcpNetConnectOpts } from "node:net";
import { connect as connectTls } from "node:tls";
import type { TcpReading } from "../lib/io/read-buffers.ts";
import type { LocalService } from "./local-service.ts";

/** The published service. Besides the server, the agent dials nothing else (G4). */
export interface Upstream {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** The service speaks HTTP/2 with prior knowledge, with or without TLS. */
  readonly http2?: boolean;
  /** Path of a Unix socket, instead of host and port. */
  readonly socketPath?: string;
  /**
   * Whether to verify the certificate of a service on this machine. Certificates of other machines are always verified.
   */
  readonly verify?: boolean;
  /** Name to request and to verify in the certificate. Default: the host. */
  readonly serverName?: string;
  /** PEM of the authorities that must have issued its certificate. Default: the system's. */
  readonly ca?: string;
  /** The agent itself is the service, so nothing is dialled. */
  readonly local?: LocalService;
  /** Form shown to users and sent to the server: `http://localhost:3000`. */
  readonly text: string;
}

/** Longest path that `sockaddr_un` holds on every platform. */
const maxSocketPath = 103;
/** Time limit for connecting to the upstream, milliseconds. */
const dialTimeoutMs = 10_000;

/**
 * Parses `3000`, `host:3000`, `http://host:3000` or `https://host`. The default ports are 80 and 443. `h2c://` is
 * HTTP/2 without TLS, `unix:/path` is a Unix socket, and `https://` alone is this machine. Throws an `Error` that
 * states the expected form.
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

/** Parses `unix:/run/app.sock`, also with `//` before the path. */
function parseSocket(text: string): Upstream {
  const path = text.replace(/^unix:(?:\/\/(?=\/))?/i, "");
  if (!path.startsWith("/") || Buffer.byteLength(path) > maxSocketPath) {
    throw new Error(`must be unix: and an absolute path of at most ${maxSocketPath} bytes`);
  }
  return { host: "localhost", port: 0, tls: false, socketPath: path, text: `unix:${path}` };
}

/**
 * Parses `5432`, `host:5432`, `tcp://host:5432`, the same with `tls://`, or `unix:/path`. Throws an `Error` that states
 * the expected form.
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
  // TLS passes through to the service, so the agent dials a bare connection in both cases.
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return { host, port, tls: false, text: `${scheme}://${url.hostname}:${port}` };
}

/**
 * Opens a connection. The socket emits `connect`, or `secureConnect` with TLS.
 * @param reading how the socket reads, for connections without TLS
 */
export function dialUpstream(upstream: Upstream, reading?: TcpReading): Socket {
  const { host, port, socketPath, verify = false, ca, serverName = isIP(host) ? undefined : host } = upstream;
  const options = {
    ...(socketPath === undefined ? { host, port } : { path: socketPath }),
    noDelay: true,
    allowHalfOpen: true,
    ...(host === "localhost" && socketPath === undefined
      ? // A slow loopback address means that this process is busy, so trying the other address would not help.
        { lookup: lookupLocalhost, autoSelectFamilyAttemptTimeout: dialTimeoutMs }
      : {}),
  };
  const socket = upstream.tls
    ? connectTls({
        ...options,
        ALPNProtocols: [upstream.http2 ? "h2" : "http/1.1"],
        ...(serverName !== undefined && { servername: serverName }),
        ...(ca !== undefined && { ca }),
        // On the loopback interface there is no one in between, and its certificates are mostly self-signed.
        rejectUnauthorized: verify || ca !== undefined || !isLoopback(host),
      })
    : connectTcp({ ...options, ...reading } as TcpNetConnectOpts);
  socket.setTimeout(dialTimeoutMs, () => socket.destroy(new Error(`no connection within ${dialTimeoutMs / 1000} s`)));
  socket.once(upstream.tls ? "secureConnect" : "connect", () => socket.setTimeout(0));
  return socket;
}

/** Returns both loopback addresses without a resolver. */
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
