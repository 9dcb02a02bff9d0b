/** Builds the request of a replay from the captured request and the caller's edits. */
import { isFieldValue, isHttpToken } from "../lib/http-token.ts";
import type { InspectedExchange } from "./inspected-exchange.ts";
import { LocalRefusal } from "./local-refusal.ts";
import { linesOf } from "./hidden-values.ts";

/** A request that is ready to be sent. */
export interface Outgoing {
  readonly method: string;
  readonly uri: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** Whether it has a body, even an empty one. */
  readonly hasBody: boolean;
  /** Whether it declares the length of its body. */
  readonly hasLength: boolean;
}

/** Changes to the captured request. */
export interface ReplayEdits {
  readonly method?: string;
  readonly uri?: string;
  /** Replaces all header fields. */
  readonly headers?: Readonly<Record<string, readonly string[]>>;
  /** Replaces the body. */
  readonly body?: Buffer;
  /** Whether to sign it as its provider would now. Default: true for a webhook with a known secret. */
  readonly sign?: boolean;
}

/** Fields that frame the message or belong to its connection (RFC 9110 §7.6.1). */
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

/** Throws `LocalRefusal` if the request cannot be sent again. */
export function outgoingOf(
  { method, target, head, body, fault, outcome }: InspectedExchange,
  edits: ReplayEdits,
  isHttp2: boolean,
): Outgoing {
  if (method === "" || fault !== undefined)
    throw new LocalRefusal("local_replay_impossible", "the captured request is unreadable and cannot be replayed");
  if (outcome === "upgraded" || method === "CONNECT") {
    throw new LocalRefusal(
      "local_replay_impossible",
      "a connection that switched to another protocol cannot be replayed",
    );
  }
  if (!edits.body && (body.isCut || !body.ended)) {
    throw new LocalRefusal("local_replay_impossible", "the captured body is incomplete: send a body with the replay");
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
  const kept = chosen.filter(
    ([name, value]) => !written.has(name.toLowerCase()) || (isHttp2 && asksForTrailers(name, value)),
  );
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
  const hasLength = chosen.some(([name]) => /^content-length$/i.test(name));
  return { method: verb, uri, fields: kept, body: content, hasBody, hasLength };
}

/** The only value of `te` that HTTP/2 allows (RFC 9113 §8.2.2). gRPC clients always send it. */
function asksForTrailers(name: string, value: string): boolean {
  return /^te$/i.test(name) && /^trailers$/i.test(value);
}
