/** Sends a replay over HTTP/2. */
import type { ClientHttp2Session } from "node:http2";
import { Transform, duplexPair, pipeline } from "node:stream";
import type { Duplex } from "node:stream";
import type { InspectedExchange } from "./inspected-exchange.ts";
import { Http2Reader } from "./http2-reader.ts";
import type { FollowOptions } from "./begin-exchange.ts";
import type { Outgoing } from "./outgoing-request.ts";

/**
 * Sends the request on a connection to a service that speaks HTTP/2, and closes it after the response. Resolves with
 * the exchange when the request has been sent. Rejects if it cannot be sent.
 */
export async function sendHttp2(
  connection: Duplex,
  request: Outgoing,
  scheme: "http" | "https",
  follow: FollowOptions,
): Promise<InspectedExchange> {
  const begun = Promise.withResolvers<InspectedExchange>();
  const reader = new Http2Reader(follow, begun.resolve);
  const { connect } = await import("node:http2");
  const [own, other] = duplexPair();
  const gone = (error?: Error | null): void => {
    connection.destroy();
    own.destroy();
    reader.ended();
    begun.reject(error ?? new Error("the service closed the connection"));
  };
  // The replay is captured from its bytes, like visitors' requests.
  pipeline(
    other,
    passAlong((bytes) => reader.fromServer(bytes)),
    connection,
    gone,
  );
  pipeline(
    connection,
    passAlong((bytes) => reader.fromService(bytes)),
    other,
    gone,
  );
  const session = connect(`${scheme}://localhost`, { createConnection: () => own, settings: { enablePush: false } });
  session.on("error", gone);
  session.once("close", () => gone());
  try {
    requestStream(session, request, scheme);
  } catch (error) {
    gone(error as Error);
  }
  return await begun.promise;
}

function requestStream(
  session: ClientHttp2Session,
  { method, uri, fields, body, hasLength }: Outgoing,
  scheme: string,
): void {
  const [, authority = "localhost"] = fields.find(([name]) => name.toLowerCase() === "host") ?? [];
  const own = [":method", method, ":path", uri, ":scheme", scheme, ":authority", authority];
  const stream = session.request([
    ...own,
    ...fields.flatMap(([name, value]) => (name.toLowerCase() === "host" ? [] : [name.toLowerCase(), value])),
    ...(hasLength ? ["content-length", String(body.length)] : []),
  ]);
  stream.on("error", () => {});
  stream.once("close", () => session.close());
  stream.resume().end(body);
}

function passAlong(read: (bytes: Buffer) => void): Transform {
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      read(bytes);
      done(null, bytes);
    },
  });
}
