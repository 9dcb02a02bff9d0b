/** A request whose response the test reads while it arrives, over both HTTP versions. */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { request } from "node:https";
import type { Readable } from "node:stream";
import { host } from "./edge-with-agent.ts";
import type { EdgeWithAgent } from "./edge-with-agent.ts";
import type { Protocol } from "./http-client.ts";

export interface OpenStream {
  readonly stream: Readable;
  /** Fields of the response; includes `:status` over HTTP/2. */
  readonly fields: Readonly<Record<string, unknown>>;
  close(): void;
}

/** Resolves with the response's head. */
export async function openStream(
  fixture: Pick<EdgeWithAgent, "connect">,
  protocol: Protocol,
  { path = "/", headers = {} }: { readonly path?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<OpenStream> {
  const socket = await fixture.connect(protocol);
  const close = (): void => void socket.destroy();
  if (protocol === "h1") {
    const outgoing = request({ createConnection: () => socket, path, headers: { host, ...headers } }).end();
    const [stream] = (await once(outgoing, "response")) as [IncomingMessage];
    return { stream, fields: stream.headers, close };
  }
  const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
  session.on("error", () => {});
  const stream = session.request({ ":path": path, ":authority": host, ...headers });
  const [fields] = (await once(stream, "response")) as [Record<string, unknown>];
  return { stream, fields, close };
}
