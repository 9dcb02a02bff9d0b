import { isBodiless } from "../../http1/bodiless.ts";
import { emptyFields } from "../../http1/field-table.ts";
import type { FieldTable } from "../../http1/field-table.ts";
import type { Answer, AnswerHeaders, FixedAnswer } from "../../traffic/step.ts";
import { errorPage } from "./error-page.ts";

/** A response of the edge, ready for the client. */
export interface RenderedAnswer {
  readonly status: number;
  readonly fields: FieldTable;
  /** As sent: empty for HEAD and for statuses without a body. */
  readonly body: Buffer;
}

/** Fields of a configured answer that are the protocol's business, or the edge's. */
const notConfigurable = new Set([
  "connection",
  "content-length",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "x-request-id",
]);
const noBytes = Buffer.alloc(0);

/**
 * Renders an answer. Throws when a fixed one cannot be sent as it is: not a final status, or a field that would
 * break the message.
 */
export function renderAnswer(
  answer: Answer,
  request: { readonly id: string; readonly method: string; readonly accept: string | undefined },
  nowMs: number,
): RenderedAnswer {
  const fixed: FixedAnswer =
    "error" in answer ? errorPage(answer.error, request.id, request.accept, answer.detail) : answer;
  const { status } = fixed;
  if (!(status >= 200 && status <= 599)) throw new Error(`answer a request: ${status} is not a final status`);
  const fields = emptyFields();
  append(fields, fixed.headers);
  if ("error" in answer && answer.headers !== undefined) append(fields, answer.headers);
  const body = Buffer.from(fixed.body as string);
  if (!isBodiless(status)) fields.append("content-length", String(body.length));
  if (!fields.has("date")) fields.append("date", new Date(nowMs).toUTCString());
  return { status, fields, body: request.method === "HEAD" || isBodiless(status) ? noBytes : body };
}

function append(fields: FieldTable, headers: AnswerHeaders): void {
  for (const name in headers) {
    if (notConfigurable.has(name.toLowerCase())) continue;
    const value = headers[name] as string | readonly string[];
    if (typeof value === "string") fields.append(name, value);
    else for (const one of value) fields.append(name, one);
  }
}
