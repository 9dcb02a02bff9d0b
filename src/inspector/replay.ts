/** Sends a kept request to a tunnel's service once more. */
import { duplexPair } from "node:stream";
import type { Duplex } from "node:stream";
import { dialUpstream } from "../agent/upstream.ts";
import type { Upstream } from "../agent/upstream.ts";
import { isFieldValue, isHttpToken } from "../lib/http-token.ts";
import { describeLoss } from "../agent/end.ts";
import type { Exchange } from "./exchange.ts";
import { ExchangeReader } from "./exchange-reader.ts";
import type { InspectedTunnel, Inspector } from "./inspector.ts";
import { LocalRefusal } from "./local-refusal.ts";
import { ownPreamble } from "../agent/proxy-preamble.ts";
import { linesOf, renderHead } from "./secrets.ts";
import { signAnew, webhooksOf } from "./sign-anew.ts";
import type { Outgoing } from "./sign-anew.ts";

/** What is sent otherwise than it was. */
export interface ReplayEdits {
  readonly method?: string;
  readonly uri?: string;
  /** Instead of all that there were. */
  readonly headers?: Readonly<Record<string, readonly string[]>>;
  /** Instead of the body that there was. */
  readonly body?: Buffer;
  /** Whether it is signed as its provider would sign it now; a webhook of which the secret is known is unless given. */
  readonly sign?: boolean;
}

/** How long the service may take in all, milliseconds. */
const longestMs = 60_000;
/** Under way at once. */
const maxReplays = 32;
const underWay = new WeakMap<Inspector, number>();
/** What frames the message, or belongs to the connection that it came on (RFC 9110 §7.6.1). */
const written: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Sends it, once: whatever becomes of it, it is not tried again. Resolves with the new exchange when it is on its way.
 * Throws `LocalRefusal` where it cannot be sent as it was.
 */
export async function replay(
  inspector: Inspector,
  given: Exchange,
  tunnel: InspectedTunnel,
  edits: ReplayEdits,
): Promise<Exchange> {
  const { clock, store } = inspector;
  const { upstream, name, proxyProtocol = 0 } = tunnel.options;
  const outgoing = outgoingOf(given, edits);
  if (upstream.http2)
    throw new LocalRefusal(
      "local_replay_impossible",
      `the service of "${name}" speaks HTTP/2 only: nothing is replayed`,
    );
  const signed =
    edits.sign === false
      ? outgoing
      : await signAnew(outgoing, webhooksOf(tunnel.options.options), {
          url: tunnel.url ?? "https://localhost",
          now: clock.now(),
          isAsked: edits.sign === true,
        });
  const others = underWay.get(inspector) ?? 0;
  if (others >= maxReplays) {
    throw new LocalRefusal(
      "local_busy",
      `${others} replays are under way, and no more may be: try again when one has ended`,
    );
  }
  const message = messageOf(signed);
  underWay.set(inspector, others + 1);
  const over = (): void => void underWay.set(inspector, (underWay.get(inspector) ?? 1) - 1);
  const socket = await connected(upstream).catch((error: unknown) => {
    over();
    throw error;
  });
  const reader = new ExchangeReader({
    tunnel: name,
    client: given.client,
    hasPreamble: false,
    replayOf: given.id,
    clock,
    store,
  });
  let failure: Error | undefined;
  const bound = clock.after(longestMs, () =>
    socket.destroy(new Error(`the service took longer than ${longestMs / 1000} s`)),
  );
  socket.on("data", (bytes: Buffer) => reader.fromService(bytes));
  // It closes behind its answer, and is not left half open.
  socket.on("end", () => socket.end());
  socket.on("error", (error) => (failure = error));
  socket.once("close", () => {
    over();
    bound.cancel();
    reader.ended(failure);
  });
  reader.fromServer(message);
  socket.write(Buffer.concat([ownPreamble(proxyProtocol), message]));
  return reader.first as Exchange;
}

/** Resolves with a connection of its own. */
async function connected(upstream: Upstream): Promise<Duplex> {
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

/** The request as it is to be sent. Throws `LocalRefusal`. */
function outgoingOf({ method, target, head, body, fault, outcome }: Exchange, edits: ReplayEdits): Outgoing {
  if (method === "" || fault !== undefined)
    throw new LocalRefusal("local_replay_impossible", "the request could not be read, so it cannot be replayed");
  if (outcome === "upgraded" || method === "CONNECT") {
    throw new LocalRefusal(
      "local_replay_impossible",
      "a connection that went on in another protocol cannot be replayed",
    );
  }
  if (!edits.body && (body.isCut || !body.ended)) {
    throw new LocalRefusal(
      "local_replay_impossible",
      "not all of the request's body was kept: give one with the replay",
    );
  }
  const content = edits.body ?? body.bytes();
  const { fields } = linesOf(head, true);
  const chosen = edits.headers
    ? Object.entries(edits.headers).flatMap(([name, values]) => values.map((value) => [name, value] as const))
    : fields;
  const wrong = chosen.find(([name, value]) => !isHttpToken(name) || !isFieldValue(value));
  if (wrong)
    throw new LocalRefusal(
      "local_replay_impossible",
      `the field ${JSON.stringify(wrong[0])} has a name or value that cannot be sent`,
    );
  const kept = chosen.filter(([name]) => !written.has(name.toLowerCase()));
  if (!kept.some(([name]) => name.toLowerCase() === "host")) {
    const [, host = "localhost"] = fields.find(([name]) => name.toLowerCase() === "host") ?? [];
    kept.unshift(["host", host]);
  }
  const verb = edits.method ?? method;
  const uri = edits.uri ?? target;
  if (!isHttpToken(verb) || !/^[\x21\x22\x24-\x7e]+$/.test(uri)) {
    throw new LocalRefusal(
      "local_replay_impossible",
      "the method must be a token, and the uri visible ASCII without spaces and #",
    );
  }
  const hasBody = content.length > 0 || fields.some(([name]) => /^(?:content-length|transfer-encoding)$/i.test(name));
  return { method: verb, uri, fields: kept, body: content, hasBody };
}

function messageOf({ method, uri, fields, body, hasBody }: Outgoing): Buffer {
  const length = hasBody ? ([["content-length", String(body.length)]] as const) : [];
  const first = `${method} ${uri} HTTP/1.1`;
  const text = renderHead({ first, fields: [...fields, ...length, ["connection", "close"]] });
  return Buffer.concat([Buffer.from(text, "latin1"), body]);
}
