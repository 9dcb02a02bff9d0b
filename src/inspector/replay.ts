/** Sends a captured request to its tunnel's service again. */
import { duplexPair } from "node:stream";
import type { Duplex } from "node:stream";
import { describeLoss } from "../agent/end.ts";
import { encodeOwnPreamble } from "../agent/proxy-preamble.ts";
import { dialUpstream } from "../agent/upstream.ts";
import type { Upstream } from "../agent/upstream.ts";
import type { InspectedExchange } from "./inspected-exchange.ts";
import type { InspectedTunnel, Inspector } from "./inspector.ts";
import { LocalRefusal } from "./local-refusal.ts";
import { outgoingOf } from "./outgoing-request.ts";
import type { Outgoing, ReplayEdits } from "./outgoing-request.ts";
import { sendHttp1 } from "./replay-http1.ts";
import { signAnew, webhooksOf } from "./sign-anew.ts";

/** Time limit for the service, milliseconds. */
const longestMs = 60_000;
/** Maximum number of simultaneous replays. */
const maxReplays = 32;
const underWay = new WeakMap<Inspector, number>();

/**
 * Sends the request exactly once, without retries. Resolves with the new exchange when it has been sent. Throws
 * `LocalRefusal` if it cannot be sent unchanged.
 */
export async function replayExchange(
  inspector: Inspector,
  original: InspectedExchange,
  tunnel: InspectedTunnel,
  edits: ReplayEdits,
): Promise<InspectedExchange> {
  const { clock, store } = inspector;
  const { upstream, name, proxyProtocol = 0 } = tunnel.options;
  const request = await signRequest(inspector, outgoingOf(original, edits, upstream.http2 === true), tunnel, edits);
  const replaysInProgress = underWay.get(inspector) ?? 0;
  if (replaysInProgress >= maxReplays) {
    throw new LocalRefusal(
      "local_busy",
      `${replaysInProgress} replays are running, which is the maximum: try again in a moment`,
    );
  }
  underWay.set(inspector, replaysInProgress + 1);
  const over = (): void => void underWay.set(inspector, (underWay.get(inspector) ?? 1) - 1);
  const connection = await connectUpstream(upstream).catch((error: unknown) => {
    over();
    throw error;
  });
  const bound = clock.after(longestMs, () =>
    connection.destroy(new Error(`the service took longer than ${longestMs / 1000} s`)),
  );
  connection.once("close", () => {
    over();
    bound.cancel();
  });
  const follow = { tunnel: name, client: original.client, hasPreamble: false, replayOf: original.id, clock, store };
  if (proxyProtocol !== 0) connection.write(encodeOwnPreamble(proxyProtocol));
  if (!upstream.http2) return sendHttp1(connection, request, follow);
  const { sendHttp2 } = await import("./replay-http2.ts");
  return await sendHttp2(connection, request, upstream.tls ? "https" : "http", follow).catch((error: unknown) => {
    connection.destroy();
    throw new LocalRefusal("local_replay_impossible", `the request cannot be sent over HTTP/2: ${describeLoss(error)}`);
  });
}

/** Signs a webhook with a known secret as its provider would now. */
async function signRequest(
  { clock }: Inspector,
  request: Outgoing,
  { options, url = "https://localhost" }: InspectedTunnel,
  { sign }: ReplayEdits,
): Promise<Outgoing> {
  if (sign === false) return request;
  return await signAnew(request, webhooksOf(options.options), { url, now: clock.now(), isAsked: sign === true });
}

/** Resolves with a new connection. */
async function connectUpstream(upstream: Upstream): Promise<Duplex> {
  if (upstream.local) {
    const [own, other] = duplexPair();
    upstream.local.serve(other);
    return own;
  }
  const socket = dialUpstream(upstream);
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  socket.once(upstream.tls ? "secureConnect" : "connect", () => resolve(socket));
  socket.once("error", reject);
  try {
    return await promise;
  } catch (error) {
    throw new LocalRefusal(
      "local_replay_unreachable",
      `the service at ${upstream.text} cannot be reached: ${describeLoss(error)}`,
    );
  }
}
