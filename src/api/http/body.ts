import { isUtf8 } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Refusal } from "../../lib/errors.ts";
import { GatheredBytes } from "../../lib/gathered-bytes.ts";
import { JsonIssue, parseJsonObject } from "../../lib/json.ts";
import type { JsonObject } from "../../lib/json.ts";
import { parseYamlObject } from "../../lib/yaml.ts";
import { readHeader } from "../operation/call.ts";
import type { Operation } from "../operation/call.ts";

/** Maximum size of a request body, bytes. */
const maxBodyBytes = 1_048_576;
/**
 * Maximum size of a JSON document of many objects, bytes. YAML parses more slowly and has the limit of request bodies.
 */
const maxDocumentBytes = 4_194_304;

/** Body of a request without a body. */
export const emptyBody: JsonObject = Object.freeze({});

/** Whether a body may follow the head. */
export function hasBody(request: IncomingMessage): boolean {
  const { headers } = request;
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

/**
 * Returns the operation with a check that rejects an empty body if the operation creates an object. Other operations
 * treat it as `{}`: an empty update, or a module from a client that drops an empty object with its type.
 */
export function requireBody(operation: Operation): Operation {
  const { takes, verb } = operation;
  if (takes !== "document" && verb !== "create" && verb !== "replace") return operation;
  return {
    ...operation,
    run(call) {
      const isUndeclared = verb === "replace" && call.request.headers["content-type"] === undefined;
      if (call.body !== emptyBody || isUndeclared) return operation.run(call);
      throw new Refusal("body_unreadable", `${operation.id}: the body is empty; send {} for an object without fields`);
    },
  };
}

/** Maximum size of a form, bytes. */
const maxFormBytes = 65_536;

/** Returns the fields of a form. Rejects with `Refusal`. */
export async function readForm(
  request: IncomingMessage,
  response: ServerResponse,
  expectsContinue: boolean,
): Promise<URLSearchParams> {
  if (!/^application\/x-www-form-urlencoded *(?:;|$)/i.test(request.headers["content-type"] ?? "")) {
    throw new Refusal("body_unreadable", "read the form: its Content-Type is not application/x-www-form-urlencoded");
  }
  if (Number(request.headers["content-length"] ?? 0) > maxFormBytes) throw refuseTooLarge(maxFormBytes);
  if (expectsContinue) response.writeContinue();
  return new URLSearchParams((await collectBody(request, maxFormBytes)).toString("utf8"));
}

/** Reads and checks the body that `operation` accepts. Rejects with `Refusal`. */
export async function readBody(
  operation: Pick<Operation, "id" | "takes">,
  request: IncomingMessage,
  response: ServerResponse,
  expectsContinue: boolean,
): Promise<JsonObject> {
  checkContentEncoding(operation, readHeader(request, "content-encoding"));
  const isYaml = operation.takes === "document" && yamlType.test(request.headers["content-type"] ?? "");
  const maxBytes = operation.takes === "document" && !isYaml ? maxDocumentBytes : maxBodyBytes;
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw refuseTooLarge(maxBytes);
  if (expectsContinue) response.writeContinue();
  const bytes = await collectBody(request, maxBytes);
  if (bytes.length === 0) return emptyBody;
  if (operation.takes === "nothing") {
    throw new Refusal("body_unexpected", `${operation.id} does not accept a body, but got ${bytes.length} bytes`);
  }
  if (operation.takes === "anything") return parseLeniently(bytes);
  if (!isYaml) checkContentType(request.headers["content-type"]);
  try {
    return isYaml ? parseYamlObject(decodeUtf8(bytes)) : parseJsonObject(bytes);
  } catch (error) {
    if (!(error instanceof JsonIssue)) throw error;
    throw new Refusal("body_unreadable", `${operation.id}: the body ${error.message}`);
  }
}

/** Reads a JSON text of at most `maxBodyBytes`, such as a message of another protocol. Rejects with `Refusal`. */
export async function readJsonBytes(
  operation: Pick<Operation, "id">,
  request: IncomingMessage,
  response: ServerResponse,
  expectsContinue: boolean,
): Promise<Buffer> {
  checkContentEncoding(operation, readHeader(request, "content-encoding"));
  if (Number(request.headers["content-length"] ?? 0) > maxBodyBytes) throw refuseTooLarge(maxBodyBytes);
  if (expectsContinue) response.writeContinue();
  const bytes = await collectBody(request, maxBodyBytes);
  checkContentType(request.headers["content-type"]);
  return bytes;
}

function parseLeniently(bytes: Buffer): JsonObject {
  try {
    return parseJsonObject(bytes);
  } catch (error) {
    if (error instanceof JsonIssue) return emptyBody;
    throw error;
  }
}

function checkContentEncoding(operation: Pick<Operation, "id">, value = ""): void {
  const coding = value.split(",").find((one) => !/^[ \t]*(?:identity)?[ \t]*$/i.test(one));
  if (coding === undefined) return;
  const shown = JSON.stringify(coding.trim().slice(0, 64));
  throw new Refusal(
    "content_encoding",
    `${operation.id}: the body has the content encoding ${shown}; send it unencoded`,
  );
}

function checkContentType(value: string | undefined): void {
  const type = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i;
  if (value !== undefined && type.test(value)) return;
  const present = value === undefined ? "it is missing" : `it is ${JSON.stringify(value.slice(0, 64))}`;
  throw new Refusal("content_type", `the Content-Type must be application/json, ${present}`);
}

/** RFC 9512. */
const yamlType = /^application\/yaml[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i;

function decodeUtf8(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new JsonIssue("is not valid UTF-8");
  return bytes.toString("utf8");
}

function collectBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let body: GatheredBytes | undefined = new GatheredBytes();
    request.on("data", (chunk: Buffer) => {
      body?.add(chunk);
      if (body === undefined || body.length <= maxBytes) return;
      body = undefined;
      reject(refuseTooLarge(maxBytes));
    });
    request.on("end", () => {
      if (body) resolve(body.join());
    });
    request.on("error", reject);
    request.on("close", () => {
      if (!request.complete) reject(new Refusal("body_unreadable", "the body ended early"));
    });
  });
}

function refuseTooLarge(maxBytes: number): Refusal {
  return new Refusal("body_too_large", `the body must be at most ${maxBytes} bytes`);
}
