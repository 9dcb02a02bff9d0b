/** Decodes bodies and upgraded connections on demand: form parts, gRPC messages and WebSocket messages. */
import type { BodyCopy, InspectedExchange } from "./inspected-exchange.ts";
import { grpcStatus, isGrpc, readGrpc } from "./grpc.ts";
import { readParts } from "./multipart.ts";
import type { MultipartPart } from "./multipart.ts";
import { linesOf, renderHead } from "./hidden-values.ts";
import type { HeadLines } from "./hidden-values.ts";
import { compressionOf, renderMessage } from "./websocket-log.ts";
import type { Budget, WebSocketMessage } from "./websocket-log.ts";

const maxMessages = 500;

/**
 * Returns `parts` of a multipart body, or `grpc`; an empty object for other types.
 * @param trailers fields after the body
 */
export function contentsOf(lines: HeadLines, body: BodyCopy, trailers = ""): object {
  const contentType = fieldOf(lines, "content-type");
  const essence = (contentType.split(";", 1)[0] ?? "").trim().toLowerCase();
  // Bodies with a content coding are decoded elsewhere.
  if (fieldOf(lines, "content-encoding") !== "") return {};
  if (essence.startsWith("multipart/")) {
    const parts = readParts(body.bytes(), contentType);
    return parts ? { parts: parts.map(renderPart) } : {};
  }
  if (!isGrpc(essence)) return {};
  const read = readGrpc(body.bytes(), essence);
  const messages = read.messages.map(({ bytes, isCompressed, content }) => ({
    bytes,
    compressed: isCompressed,
    base64: content.toString("base64"),
    ...(content.length < bytes && { cut: true }),
  }));
  return {
    grpc: { messages, cut: read.isCut, ...grpcStatus(`${read.trailers}\r\n${trailers}\r\n${renderHead(lines)}`) },
  };
}

/**
 * Messages of a WebSocket, oldest first; an empty list for other exchanges.
 * @param budget see `WebSocketLog.messages`
 */
export function messagesOf({ webSocket, response }: InspectedExchange, budget?: Budget): readonly WebSocketMessage[] {
  if (!webSocket || !response) return [];
  return webSocket.messages(compressionOf(fieldOf(linesOf(response.head, true), "sec-websocket-extensions")), budget);
}

/** The same in the format of the local API; an empty object for other exchanges. */
export function webSocketOf(exchange: InspectedExchange): object {
  const { webSocket, response } = exchange;
  if (!webSocket || !response) return {};
  const messages = messagesOf(exchange);
  const shown = messages.slice(-maxMessages);
  const missing = webSocket.dropped > 0 || shown.length < messages.length;
  return { websocket: { messages: shown.map(renderMessage), cut: missing } };
}

function renderPart({ name, fileName, type, bytes, text, isCut }: MultipartPart): object {
  return {
    name,
    ...(fileName !== undefined && { file_name: fileName }),
    ...(type !== "" && { content_type: type }),
    bytes,
    ...(text !== undefined && { text }),
    ...(isCut && { cut: true }),
  };
}

/**
 * Returns "" if the field is absent.
 * @param wanted lower case
 */
export function fieldOf({ fields }: HeadLines, wanted: string): string {
  return fields.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? "";
}
