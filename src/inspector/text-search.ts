/** Full-text search in captured exchanges: heads, decoded bodies, and messages of gRPC and WebSockets. */
import { brotliDecompressSync, constants, gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";
import { fieldOf, messagesOf } from "./contents.ts";
import type { BodyCopy, InspectedExchange } from "./inspected-exchange.ts";
import { isGrpc, readGrpc } from "./grpc.ts";
import { linesOf, renderHead } from "./hidden-values.ts";
import type { HeadLines } from "./hidden-values.ts";
import type { Budget } from "./websocket-log.ts";

/**
 * Maximum decoded size of one body, and of all bodies of one search, bytes. It keeps a search from delaying traffic.
 */
const maxUndoneBytes = 1_048_576;
const maxUndoneInAll = 33_554_432;

type Undo = (bytes: Buffer, maxOutputLength: number) => Buffer;

/** By name of the coding. A truncated body is decoded up to its end. */
const codings = new Map<string, Undo>([
  ["gzip", (bytes, maxOutputLength) => gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength })],
  ["deflate", (bytes, maxOutputLength) => inflateSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength })],
  [
    "br",
    (bytes, maxOutputLength) =>
      brotliDecompressSync(bytes, { finishFlush: constants.BROTLI_OPERATION_FLUSH, maxOutputLength }),
  ],
  [
    "zstd",
    (bytes, maxOutputLength) => zstdDecompressSync(bytes, { finishFlush: constants.ZSTD_e_flush, maxOutputLength }),
  ],
]);

/**
 * Returns a predicate that finds the text as UTF-8, ignoring the case of ASCII letters. Encoded bodies are decoded
 * within a budget, in the order in which exchanges are tested.
 */
export function makeTextSearch(text: string): (exchange: InspectedExchange) => boolean {
  const wanted = Buffer.from(text).toString("latin1").toLowerCase();
  const budget = { left: maxUndoneInAll };
  const has = (bytes: Buffer): boolean => bytes.toString("latin1").toLowerCase().includes(wanted);
  const messageHas = (head: Buffer, body: BodyCopy): boolean => {
    const lines = linesOf(head, false);
    // Credentials are not searched, because matches would reveal them letter by letter.
    if (renderHead(lines).toLowerCase().includes(wanted)) return true;
    const bytes = body.bytes();
    return has(bytes) || contentsOf(lines, bytes, budget).some(has);
  };
  return (exchange) => {
    const { head, body, response } = exchange;
    if (messageHas(head, body) || (response && messageHas(response.head, response.body))) return true;
    return messagesOf(exchange, budget).some(({ content }) => has(content));
  };
}

/** Decodes content that the bytes of a body do not show directly. */
function contentsOf(lines: HeadLines, bytes: Buffer, budget: Budget): Buffer[] {
  if (bytes.length === 0) return [];
  const coding = fieldOf(lines, "content-encoding").trim().toLowerCase();
  const plain = coding === "" ? bytes : decodeBody(bytes, coding, budget);
  if (!plain) return [];
  const essence = (fieldOf(lines, "content-type").split(";", 1)[0] ?? "").trim().toLowerCase();
  if (!isGrpc(essence)) return plain === bytes ? [] : [plain];
  const packed = fieldOf(lines, "grpc-encoding").trim().toLowerCase();
  return readGrpc(plain, essence).messages.flatMap(
    ({ content, isCompressed }) => (isCompressed ? decodeBody(content, packed, budget) : content) ?? [],
  );
}

/** Returns undefined if the body cannot be decoded or the budget is used up. */
function decodeBody(bytes: Buffer, coding: string, budget: Budget): Buffer | undefined {
  const undo = codings.get(coding.replace(/^x-/, ""));
  if (!undo || budget.left <= 0) return undefined;
  try {
    const plain = undo(bytes, maxUndoneBytes);
    budget.left -= plain.length;
    return plain;
  } catch {
    // The body does not have this coding, or exceeds the limit.
    budget.left -= maxUndoneBytes;
    return undefined;
  }
}
