/** Visitors over HTTP that send one request after another, and do what the server's answers request. */
import { once } from "node:events";
import { connect as connectHttp2, constants } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { Agent, request as requestHttps } from "node:https";
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import type { TLSSocket } from "node:tls";
import { causeOf } from "./visit-tally.ts";
import type { VisitTally } from "./visit-tally.ts";
import { connectTo, patienceMs, refusalOf } from "./chaos-target.ts";
import type { ChaosTarget } from "./chaos-target.ts";

export type Method = "GET" | "POST";

const body = "postern chaos";

/** Time to wait after a failed connection, so that a dead server gets no flood, milliseconds. */
const retryMs = 100;

/**
 * Sends requests over HTTP/1.1 until the signal. Uses a connection again unless the server sends `Connection: close`.
 * @param isFresh whether each request has a new connection
 */
export async function visitHttp1(
  target: ChaosTarget,
  method: Method,
  isFresh: boolean,
  tally: VisitTally,
  until: AbortSignal,
): Promise<void> {
  await visitTarget(target, "http/1.1", tally, until, async (socket) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    agent.createConnection = () => socket;
    for (let isKept = true; isKept && !until.aborted;) {
      const headers = { host: target.url.host, ...(method === "POST" && { "content-length": body.length }) };
      const path = `${target.url.pathname}${target.url.search}`;
      const outgoing = requestHttps({
        agent,
        method,
        path,
        headers,
        timeout: patienceMs,
        signal: AbortSignal.timeout(patienceMs),
      });
      outgoing.end(method === "POST" ? body : undefined);
      const [response] = (await once(outgoing, "response")) as [IncomingMessage];
      await discardBody(response);
      concludeVisit(tally, response.statusCode ?? 0, response.headers["postern-error-code"]);
      isKept = !isFresh && response.headers.connection !== "close";
      await pause(target.thinkMs);
    }
    agent.destroy();
  });
}

/** Sends requests over HTTP/2 until the signal. After GOAWAY it uses a new connection, also for refused requests. */
export async function visitHttp2(
  target: ChaosTarget,
  method: Method,
  tally: VisitTally,
  until: AbortSignal,
): Promise<void> {
  await visitTarget(target, "h2", tally, until, async (socket) => {
    const session = connectHttp2(target.url.origin, { createConnection: () => socket });
    session.on("error", () => {});
    const leaving = new AbortController();
    session.on("goaway", () => leaving.abort());
    try {
      while (!leaving.signal.aborted && !until.aborted) {
        if (!(await askHttp2(session, target, method, tally))) return;
        await pause(target.thinkMs);
      }
    } finally {
      session.destroy();
    }
  });
}

/** Returns false if the server has not processed the request, and the client must send it again (RFC 9113 §8.7). */
async function askHttp2(
  session: ClientHttp2Session,
  target: ChaosTarget,
  method: Method,
  tally: VisitTally,
): Promise<boolean> {
  const { url } = target;
  const head = { ":method": method, ":path": `${url.pathname}${url.search}`, ":authority": url.host };
  const stream = session.request(head, { endStream: method === "GET", signal: AbortSignal.timeout(patienceMs) });
  if (method === "POST") stream.end(body);
  const { promise: closed, reject } = Promise.withResolvers<never>();
  stream.once("close", () => reject(new Error("the stream was closed")));
  closed.catch(() => {});
  try {
    const [fields] = (await Promise.race([once(stream, "response"), closed])) as [Record<string, unknown>];
    await discardBody(stream);
    concludeVisit(tally, Number(fields[":status"]), fields["postern-error-code"] as string | undefined);
    return true;
  } catch (error) {
    if (stream.rstCode !== constants.NGHTTP2_REFUSED_STREAM) throw error;
    return false;
  }
}

/** Opens one connection after another, and runs `use` on each. Counts what it throws. */
async function visitTarget(
  target: ChaosTarget,
  protocol: "http/1.1" | "h2",
  tally: VisitTally,
  until: AbortSignal,
  use: (socket: TLSSocket) => Promise<void>,
): Promise<void> {
  while (!until.aborted) {
    let socket: TLSSocket | undefined;
    try {
      socket = await connectTo(target, protocol);
      tally.connections += 1;
      await use(socket);
    } catch (error) {
      if (!until.aborted) tally.failed(causeOf(error));
      await pause(retryMs);
    }
    socket?.destroy();
  }
}

/** Reads a response to its end. Rejects if it is cut. */
async function discardBody(response: Readable): Promise<void> {
  response.resume();
  await finished(response, { writable: false });
}

function concludeVisit(tally: VisitTally, status: number, code: string | readonly string[] | undefined): void {
  const refusal = refusalOf(status, code);
  if (refusal === undefined) tally.succeeded();
  else tally.failed(refusal);
}
