/** What is in a body or behind a handshake, read when somebody looks: parts of forms, messages of gRPC and WebSockets. */
import type { BodyCopy, Exchange } from "./exchange.ts";
import { grpcStatus, isGrpc, readGrpc } from "./grpc.ts";
import { readParts } from "./multipart.ts";
import type { Part } from "./multipart.ts";
import { linesOf, renderHead } from "./secrets.ts";
import type { HeadLines } from "./secrets.ts";
import { compressionOf, renderMessage } from "./websocket-log.ts";
import type { Budget, WebSocketMessage } from "./websocket-log.ts";

const maxMessages = 500;

/** `parts` of a multipart body, or `grpc`; nothing for others. @param trailers what came behind the body */
export function contentsOf(lines: HeadLines, body: BodyCopy, trailers = ""): object {
  const contentType = fieldOf(lines, "content-type");
  const essence = (contentType.split(";", 1)[0] ?? "").trim().toLowerCase();
  // What is coded in whole is left to whoever undoes that.
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

/** Messages of a WebSocket, the oldest first; none for others. @param budget as `WebSocketLog.messages` has it */
export function messagesOf({ webSocket, response }: Exchange, budget?: Budget): readonly WebSocketMessage[] {
  if (!webSocket || !response) return [];
  return webSocket.messages(compressionOf(fieldOf(linesOf(response.head, true), "sec-websocket-extensions")), budget);
}

/** The same as the local API has them; nothing for others. */
export function webSocketOf(exchange: Exchange): object {
  const { webSocket, response } = exchange;
  if (!webSocket || !response) return {};
  const messages = messagesOf(exchange);
  const shown = messages.slice(-maxMessages);
  const missing = webSocket.dropped > 0 || shown.length < messages.length;
  return { websocket: { messages: shown.map(renderMessage), cut: missing } };
}

function renderPart({ name, fileName, type, bytes, text, isCut }: Part): object {
  return {
    name,
    ...(fileName !== undefined && { file_name: fileName }),
    ...(type !== "" && { content_type: type }),
    bytes,
    ...(text !== undefined && { text }),
    ...(isCut && { cut: true }),
  };
}

/** "" where it is not there. @param wanted in small letters */
export function fieldOf({ fields }: HeadLines, wanted: string): string {
  return fields.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? "";
}
