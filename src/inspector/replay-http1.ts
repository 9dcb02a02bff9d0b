/** Sends a replay over HTTP/1.1. */
import type { Duplex } from "node:stream";
import type { FollowOptions } from "./begin-exchange.ts";
import type { InspectedExchange } from "./inspected-exchange.ts";
import { ExchangeReader } from "./exchange-reader.ts";
import type { Outgoing } from "./outgoing-request.ts";
import { renderHead } from "./hidden-values.ts";

/** Sends the request on the connection, which closes after the response. Returns its exchange. */
export function sendHttp1(connection: Duplex, request: Outgoing, follow: FollowOptions): InspectedExchange {
  const reader = new ExchangeReader(follow);
  let failure: Error | undefined;
  connection.on("data", (bytes: Buffer) => reader.fromService(bytes));
  // The connection must not stay half-open.
  connection.on("end", () => connection.end());
  connection.on("error", (error) => (failure = error));
  connection.once("close", () => reader.ended(failure));
  const message = messageOf(request);
  reader.fromServer(message);
  connection.write(message);
  return reader.first as InspectedExchange;
}

function messageOf({ method, uri, fields, body, hasBody }: Outgoing): Buffer {
  const length = hasBody ? ([["content-length", String(body.length)]] as const) : [];
  const first = `${method} ${uri} HTTP/1.1`;
  const text = renderHead({ first, fields: [...fields, ...length, ["connection", "close"]] });
  return Buffer.concat([Buffer.from(text, "latin1"), body]);
}
