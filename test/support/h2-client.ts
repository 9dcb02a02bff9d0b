/** The client of node:http2 for our server, with the response data that tests need. */
import { once } from "node:events";
import { connect } from "node:http2";
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import { connect as connectTls } from "node:tls";
import { trusting } from "./http-client.ts";
import type { H2Target } from "./h2-frames.ts";

export interface H2Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly trailers: IncomingHttpHeaders | undefined;
  /** Error code of the stream; 0 if it ended normally. */
  readonly code: number;
}

export async function h2Session({ port, host, ca }: H2Target): Promise<ClientHttp2Session> {
  const session = connect(`https://${host}`, {
    createConnection: () =>
      connectTls({ port, host: "127.0.0.1", servername: host, secureContext: trusting(ca), ALPNProtocols: ["h2"] }),
  });
  session.on("error", () => {});
  await once(session, "remoteSettings");
  return session;
}

/** Sends a request and reads its response to the end. */
export function h2Request(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: Buffer): Promise<H2Answer> {
  const stream = session.request(headers, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  return h2Answer(stream);
}

export function h2Answer(stream: ClientHttp2Stream): Promise<H2Answer> {
  return new Promise((resolve) => {
    let status = 0;
    let responseHeaders: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders | undefined;
    const pieces: Buffer[] = [];
    stream.on("response", (headers) => {
      status = Number(headers[":status"]);
      responseHeaders = headers;
    });
    stream.on("trailers", (headers) => (trailers = headers));
    stream.on("data", (piece: Buffer) => pieces.push(piece));
    stream.on("error", () => {});
    stream.on("close", () =>
      resolve({ status, headers: responseHeaders, body: Buffer.concat(pieces), trailers, code: stream.rstCode ?? 0 }),
    );
  });
}
