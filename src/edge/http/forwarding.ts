import type { FieldTable } from "../../http1/field-table.ts";
import { isHopByHop } from "../../http1/field-table.ts";
import { known, knownNames } from "../../http1/known-fields.ts";
import type { TrafficId } from "../../lib/traffic-ids.ts";
import { putLatin1 } from "../../http1/slab.ts";

/**
 * Header fields on their way through the edge (security R3, W2, W5).
 *
 * The one rule for `X-Forwarded-*`: what a client sends of them is removed and the edge writes its own. From peers
 * that are configured as trusted proxies, For and Proto are kept and extended, and Host is kept
 * (semantics, "Forwarding"). `Forwarded` and other names for the same are removed in any case: the edge
 * does not extend them, so that they would contradict.
 *
 * Fields that the edge sets are written behind everything else and are in no table, so that neither a client's
 * Connection options nor a module can remove them.
 */
const ownPrefixes = ["ngrok-", "postern-"];
/** Never removed because Connection names them: framing and routing depend on them. */
const unremovable = new Set(["host", "content-length", "transfer-encoding", "expect"]);
const underscore = 95;

export interface ForwardedBefore {
  readonly for: readonly string[];
  readonly proto: readonly string[];
  readonly host: string | undefined;
}

const nothingBefore: ForwardedBefore = { for: [], proto: [], host: undefined };

/** Removes from a request's fields, or its trailers, what goes no further. Returns what a trusted proxy said. */
export function stripRequest(fields: FieldTable, trusted: boolean): ForwardedBefore {
  let before = nothingBefore;
  // Before what Connection names is dropped: it is the client's word that a proxy passes on without thinking.
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
        // "n" and "p" in either case.
        const first = (bytes[fields.nameStart(index)] as number) | 0x20;
        if ((first === 110 || first === 112) && hasOwnPrefix(fields.nameAt(index))) fields.drop(index);
      }
    }
  }
  return before;
}

/** Removes from a response's fields, or its trailers, what is for this hop only, and what only the edge may say. */
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

/** The lines that tell the upstream of the client, up to the request id that follows them. */
export function forwardedText(
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

/** Bytes that `writeRequestHead` needs besides the fields and the texts given to it, `upgrade` among them. */
export const requestHeadBytes = 128;

/** Writes a whole request head; returns where it ended. */
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
): number {
  let at = putLatin1(target, start, head.method);
  target[at] = 32;
  at = putLatin1(target, at + 1, head.upstreamTarget);
  at = putLatin1(target, at, " HTTP/1.1\r\n");
  at = head.headers.write(target, at);
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

/** Whether an upstream that maps punctuation to "-" or "_" could take the name for one that the edge sets. */
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
