/** Upgraded exchanges as bytes: a service that accepts upgrades, and clients of either version of HTTP. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import { connect as connectHttp2, constants } from "node:http2";
import type { IncomingHttpHeaders } from "node:http2";
import { connect as connectTcp } from "node:net";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { host } from "./edge-with-agent.ts";
import type { EdgeWithAgent } from "./edge-with-agent.ts";
import type { Protocol } from "./http-client.ts";

/** Returns the server's proof for a key (RFC 6455 §4.2.2). */
export function proofOf(key: string): string {
  return createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
}

/** Returns the 101 response to a request. */
export function switching(request: IncomingMessage): string {
  const key = request.headers["sec-websocket-key"];
  const accept = key === undefined ? "" : `Sec-WebSocket-Accept: ${proofOf(key)}\r\n`;
  // Chooses the last of several protocols, to show that the service makes the choice.
  const protocol = request.headers.upgrade?.split(",").at(-1)?.trim();
  return `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n${accept}\r\n`;
}

/**
 * Accepts every upgrade. Resolves with the service's end of each one in turn, half-open.
 * @param declining response instead of an upgrade, on a connection that stays open; undefined accepts
 */
export function accepting(
  service: Server,
  declining: () => string | undefined = () => undefined,
): () => Promise<Socket> {
  const sockets: Socket[] = [];
  let wake = Promise.withResolvers<void>();
  service.on("upgrade", (request: IncomingMessage, socket: Socket) => {
    socket.on("error", () => {});
    const declined = declining();
    if (declined !== undefined) return void socket.end(declined);
    socket.write(switching(request));
    sockets.push(socket);
    wake.resolve();
  });
  return async () => {
    for (;;) {
      const socket = sockets.shift();
      if (socket !== undefined) return socket;
      wake = Promise.withResolvers();
      await wake.promise;
    }
  };
}

export interface UpgradedClient {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** Bytes of the upgraded exchange, or of the response body. Half-open. */
  readonly stream: Duplex;
  /** Breaks the stream off: resets the connection, or the stream over HTTP/2. */
  cut(): void;
  /** Closes all sockets of the client. */
  destroy(): void;
}

export interface UpgradeOptions {
  /** HTTP/1.1 only. Default: "websocket". */
  readonly upgrade?: string;
  /** Additional field lines in lower case. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Written directly after the head: a body, if `fields` announce one, and bytes of the upgraded exchange. */
  readonly first?: string;
  readonly method?: string;
}

/** Requests an upgrade: by RFC 6455 or another token over HTTP/1.1, by RFC 8441 over HTTP/2. */
export async function upgrade(
  fixture: EdgeWithAgent,
  protocol: Protocol,
  options: UpgradeOptions = {},
): Promise<UpgradedClient> {
  const bare = connectTcp({ host: "127.0.0.1", port: fixture.edge.edge.https.port, allowHalfOpen: true });
  bare.on("error", () => {});
  const socket = connectTls({
    socket: bare,
    servername: host,
    ca: fixture.edge.authority.certificatePem,
    ALPNProtocols: [protocol === "h2" ? "h2" : "http/1.1"],
  });
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  const destroy = (): void => void bare.destroy();
  if (protocol === "h2") {
    const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
    session.on("error", () => {});
    await once(session, "remoteSettings");
    const stream = session.request(
      {
        ":method": "CONNECT",
        ":protocol": "websocket",
        ":path": "/",
        ":authority": host,
        "sec-websocket-version": "13",
        ...options.fields,
      },
      { endStream: false },
    );
    stream.on("error", () => {});
    if (options.first !== undefined) stream.write(options.first);
    const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders & { ":status"?: number }];
    return {
      status: headers[":status"] ?? 0,
      headers,
      stream,
      cut: () => stream.close(constants.NGHTTP2_CANCEL),
      destroy,
    };
  }
  const token = options.upgrade ?? "websocket";
  const key =
    token === "websocket" ? "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" : "";
  const more = Object.entries(options.fields ?? {}).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(
    `${options.method ?? "GET"} / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: ${token}\r\n${key}${more.join("")}\r\n${options.first ?? ""}`,
  );
  let bytes = Buffer.alloc(0);
  while (!bytes.includes("\r\n\r\n")) {
    const [piece] = (await once(socket, "data")) as [Buffer];
    bytes = Buffer.concat([bytes, piece]);
  }
  socket.pause();
  const end = bytes.indexOf("\r\n\r\n");
  const [statusLine = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  if (bytes.length > end + 4) socket.unshift(bytes.subarray(end + 4));
  return {
    status: Number(statusLine.split(" ")[1]),
    headers: Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
    ),
    stream: socket,
    cut: () => void bare.resetAndDestroy(),
    destroy,
  };
}

/** Returns the number of TCP connections of this process, counting either end. */
export function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
}
