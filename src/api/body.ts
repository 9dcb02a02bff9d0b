import type { IncomingMessage, ServerResponse } from "node:http";
import { Refusal } from "../lib/errors.ts";
import { JsonIssue, parseJsonObject } from "../lib/json.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Operation } from "./call.ts";

/** Largest request body, bytes. */
const maxBodyBytes = 1_048_576;

const nothing: JsonObject = Object.freeze({});

/** Whether a body may follow the head. */
export function hasBody(request: IncomingMessage): boolean {
  const { headers } = request;
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

/** Reads and checks the body that `operation` takes; rejects with `Refusal`. */
export async function readBody(
  operation: Operation,
  request: IncomingMessage,
  response: ServerResponse,
  expectsContinue: boolean,
): Promise<JsonObject> {
  if (Number(request.headers["content-length"] ?? 0) > maxBodyBytes) throw tooLarge();
  if (expectsContinue) response.writeContinue();
  const bytes = await collect(request);
  if (bytes.length === 0) return nothing;
  if (operation.takes === "nothing") {
    throw new Refusal("body_unexpected", `${operation.id} takes no body, got ${bytes.length} bytes`);
  }
  if (operation.takes === "anything") return lenient(bytes);
  checkContentType(request.headers["content-type"]);
  try {
    return parseJsonObject(bytes);
  } catch (error) {
    if (!(error instanceof JsonIssue)) throw error;
    throw new Refusal("body_unreadable", `${operation.id}: the body ${error.message}`);
  }
}

function lenient(bytes: Buffer): JsonObject {
  try {
    return parseJsonObject(bytes);
  } catch (error) {
    if (error instanceof JsonIssue) return nothing;
    throw error;
  }
}

function checkContentType(value: string | undefined): void {
  const type = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i;
  if (value !== undefined && type.test(value)) return;
  const present = value === undefined ? "there is none" : `it is ${JSON.stringify(value.slice(0, 64))}`;
  throw new Refusal("content_type", `the Content-Type must be application/json, ${present}`);
}

function collect(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] | undefined = [];
    let total = 0;
    request.on("data", (chunk: Buffer) => {
      total += chunk.length;
      if (total > maxBodyBytes && chunks) {
        chunks = undefined;
        reject(tooLarge());
      }
      chunks?.push(chunk);
    });
    request.on("end", () => {
      if (chunks) resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, total));
    });
    request.on("error", reject);
    request.on("close", () => {
      if (!request.complete) reject(new Refusal("body_unreadable", "the body ended early"));
    });
  });
}

function tooLarge(): Refusal {
  return new Refusal("body_too_large", `the body must be at most ${maxBodyBytes} bytes`);
}
