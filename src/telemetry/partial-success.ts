/** Reads how many items an endpoint rejected although it accepted the request. */
import type { OutboundAnswer } from "../outbound/outbound.ts";
import { fieldsOf } from "./proto-reader.ts";

export interface PartialSuccess {
  readonly rejected: number;
  /** Reason, of at most 200 characters. */
  readonly message: string;
}

const none: PartialSuccess = { rejected: 0, message: "" };
const partialSuccess = 1;
const [rejectedCount, errorMessage] = [1, 2] as const;

/** An answer that cannot be read means that all items were accepted. */
export function readPartialSuccess({ headers, body, text }: OutboundAnswer): PartialSuccess {
  try {
    return headers["content-type"]?.startsWith("application/json") ? ofJson(text) : ofBytes(body);
  } catch {
    return none;
  }
}

function ofJson(text: string): PartialSuccess {
  const { partialSuccess: told } = JSON.parse(text) as { readonly partialSuccess?: Readonly<Record<string, unknown>> };
  if (told === undefined) return none;
  const rejected = told["rejectedSpans"] ?? told["rejectedLogRecords"] ?? told["rejectedDataPoints"];
  const message = told["errorMessage"];
  return resultOf(Number(rejected ?? 0), typeof message === "string" ? message : "");
}

function ofBytes(body: Uint8Array): PartialSuccess {
  let found = none;
  for (const { field, bytes } of fieldsOf(body)) {
    if (field !== partialSuccess || bytes === undefined) continue;
    let [rejected, message] = [0, ""];
    for (const inner of fieldsOf(bytes)) {
      if (inner.field === rejectedCount) rejected = inner.value;
      else if (inner.field === errorMessage && inner.bytes) message = Buffer.from(inner.bytes).toString();
    }
    found = resultOf(rejected, message);
  }
  return found;
}

function resultOf(rejected: number, message: string): PartialSuccess {
  return { rejected: Number.isSafeInteger(rejected) ? Math.max(0, rejected) : 0, message: message.slice(0, 200) };
}
