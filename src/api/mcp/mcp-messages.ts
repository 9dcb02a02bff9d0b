/** The JSON-RPC messages in the body of a request. */
import type { IncomingMessage } from "node:http";
import { isJsonObject, JsonIssue, parseJson } from "../../lib/json.ts";
import type { JsonObject } from "../../lib/json.ts";
import { makeFailure, rpcCodes } from "../../mcp/service.ts";
import { readHeader } from "../operation/call.ts";

/** Maximum number of messages in a batch. */
const maxBatch = 20;
/** The only version with batches. A client that sends no version has it (MCP 2025-06-18, "Protocol Version Header"). */
const batchVersion = "2025-03-26";

export type Messages =
  | { readonly isBatch: boolean; readonly messages: readonly JsonObject[] }
  /** The JSON-RPC error that the client gets. */
  | { readonly error: JsonObject };

export function messagesIn(bytes: Buffer, request: IncomingMessage): Messages {
  let body: unknown;
  try {
    body = parseJson(bytes);
  } catch (error) {
    if (!(error instanceof JsonIssue)) throw error;
    return refuseMessage(rpcCodes.parse, `The body ${error.message}.`);
  }
  if (isJsonObject(body)) return { isBatch: false, messages: [body] };
  if (!Array.isArray(body)) return refuseMessage(rpcCodes.request, "The body must be a JSON-RPC message.");
  if ((readHeader(request, "mcp-protocol-version") ?? batchVersion) !== batchVersion) {
    return refuseMessage(rpcCodes.request, `Batches exist only in version ${batchVersion}. Send each message alone.`);
  }
  const messages = body as readonly unknown[];
  if (messages.length === 0 || messages.length > maxBatch || !messages.every(isJsonObject)) {
    return refuseMessage(rpcCodes.request, `A batch must have 1 to ${maxBatch} messages.`);
  }
  // MCP 2025-03-26, "Lifecycle": the request must not be part of a batch.
  if (messages.some(({ method }) => method === "initialize")) {
    return refuseMessage(rpcCodes.request, "Send initialize alone.");
  }
  return { isBatch: true, messages };
}

function refuseMessage(code: number, message: string): Messages {
  return { error: makeFailure(null, code, message) };
}
