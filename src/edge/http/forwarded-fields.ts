import type { FieldTable } from "../../http1/field-table.ts";
import { isHopByHop } from "../../http1/field-table.ts";
import { known, knownNames } from "../../http1/known-fields.ts";
import type { TrafficId } from "../../lib/traffic-ids.ts";
import type { TraceLine } from "./exchange-trace.ts";
import { putLatin1 } from "../../http1/slab.ts";

/**
 * Header fields that the edge forwards, sets and removes (security R3, W2, W5).
 *
 * One rule covers `X-Forwarded-*`: the edge removes clients' values and writes its own. For trusted proxies it keeps
 * and extends For and Proto, and keeps Host (semantics, "Forwarding"). It always removes `Forwarded` and similar
 * fields. The edge does not extend these, so they would contradict its own fields.
 *
 * The edge writes its own fields after all others and outside any table. So neither a client's Connection options nor a
 * module can remove them.
 */
const ownPrefixes = ["ngrok-", "postern-"];
/** Fields that Connection cannot remove, because framing and routing depend on them. */
const unremovable = new Set(["host", "content-length", "transfer-encoding", "expect"]);
const underscore = 95;

export interface ForwardedBefore {
  readonly for: readonly string[];
  readonly proto: readonly string[];
  readonly host: string | undefined;
}

export const nothingBefore: ForwardedBefore = { for: [], proto: [], host: undefined };

/**
 * Removes fields that are not forwarded from a request's fields or trailers. Returns the fields that a trusted proxy
 * had set.
 */
export function stripRequest(fields: FieldTable, trusted: boolean): ForwardedBefore {
  let before = nothingBefore;
  // Read before the fields named in Connection are dropped: proxies pass a client's Connection on unchecked.
  if (trusted) {
    before = {
      for: fields.getAll("x-forwarded-for"),
      proto: fields.getAll("x-forwarded-proto"),
      host: fields.getAll("x-forwarded-host").join(", ") || undefined,
    };
  }
  if (fields.connectionNames) dropNamed(fields);
  const { count, bytes } = fields;
  for (let index = 0; index < count; index += 1) {
    const id = fields.knownAt(index);
    if (id > 0) {
      if (id !== known.host && id !== known["content-length"] && id !== known.expect) fields.drop(index);
    } else if (id === 0) {
      if (fields.isOdd(index)) {
        if (isDisguised(fields, index)) fields.drop(index);
      } else {
        // "n" and "p", upper or lower case.
        const first = (bytes[fields.nameStart(index)] as number) | 0x20;
        if ((first === 110 || first === 112) && hasOwnPrefix(fields.nameAt(index))) fields.drop(index);
      }
    }
  }
  return before;
}

/** Removes hop-by-hop fields and fields reserved for the edge from a response's fields or trailers. */
export function stripResponse(fields: FieldTable): void {
  if (fields.connectionNames) dropNamed(fields);
  for (let index = 0; index < fields.count; index += 1) {
    const id = fields.knownAt(index);
    if (id <= 0) continue;
    if (
      isHopByHop(id) ||
      id === known["x-request-id"] ||
      (id >= known["postern-error-code"] && id <= known["postern-agent-error"])
    ) {
      fields.drop(index);
    }
  }
}

/** Returns the lines that describe the client to the upstream, up to the request id that follows them. */
export function writeForwarded(
  source: string,
  scheme: "https" | "http",
  port: number,
  hostField: string,
  before: ForwardedBefore,
): string {
  return (
    `X-Forwarded-For: ${[...before.for, source].join(", ")}\r\n` +
    `X-Forwarded-Proto: ${[...before.proto, scheme].join(", ")}\r\n` +
    `X-Forwarded-Host: ${before.host ?? hostField}\r\n` +
    `X-Forwarded-Port: ${port}\r\n` +
    `X-Request-Id: `
  );
}

/** Bytes that `writeRequestHead` needs in addition to the fields and the texts passed to it, including `upgrade`. */
export const requestHeadBytes = 128;

/** Writes a whole request head. Returns its end. */
export function writeRequestHead(
  target: Buffer,
  start: number,
  head: {
    readonly method: string;
    /** Path and query. */
    readonly upstreamTarget: string;
    readonly headers: FieldTable;
    readonly upgrade: string;
  },
  chunked: boolean,
  forwarded: string,
  requestId: TrafficId,
  traceLine: TraceLine | undefined,
): number {
  let at = putLatin1(target, start, head.method);
  target[at] = 32;
  at = putLatin1(target, at + 1, head.upstreamTarget);
  at = putLatin1(target, at, " HTTP/1.1\r\n");
  at = head.headers.write(target, at);
  if (traceLine !== undefined) at = traceLine.write(target, at);
  at = putLatin1(target, at, forwarded);
  at = requestId.write(target, at);
  if (chunked) at = putLatin1(target, at, "\r\nTransfer-Encoding: chunked");
  if (head.upgrade !== "") {
    at = putLatin1(target, at, "\r\nConnection: Upgrade\r\nUpgrade: ");
    at = putLatin1(target, at, head.upgrade);
  }
  return putLatin1(target, at, "\r\n\r\n");
}

function dropNamed(fields: FieldTable): void {
  for (const options of fields.getAll("connection")) {
    for (const option of options.split(",")) {
      const name = option.trim().toLowerCase();
      if (name !== "" && name !== "connection" && !unremovable.has(name)) fields.delete(name);
    }
  }
}

/** Whether an upstream that maps punctuation to "-" or "_" could confuse the name with a field that the edge sets. */
function isDisguised(fields: FieldTable, index: number): boolean {
  for (let at = fields.nameStart(index); at < fields.nameEnd(index); at += 1) {
    if (fields.bytes[at] === underscore) return true;
  }
  const plain = fields.nameAt(index).replaceAll(/[^0-9a-z]/g, "-");
  return hasOwnPrefix(plain) || reserved.has(plain);
}

function hasOwnPrefix(name: string): boolean {
  return ownPrefixes.some((prefix) => name.startsWith(prefix));
}

const reserved = new Set(knownNames.slice(1));
