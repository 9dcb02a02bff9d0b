/** What the writer and the reader of records agree on. Append only: older segments must stay readable. */
import type { Outcome } from "../../routing/planes/questions.ts";
import type { CapturedRequest } from "../record.ts";

export const idPrefix = "req_";
export const httpVersions: readonly CapturedRequest["request"]["httpVersion"][] = ["1.0", "1.1", "2"];
export const outcomes: readonly Outcome[] = ["forwarded", "answered", "denied", "failed"];

/** Stands for the names of header fields that follow as received. No name has a line break. */
export const rawMark = "\n";

/** Parts of a record that are present, and its booleans. */
export const flags = {
  route: 0x01,
  https: 0x02,
  body: 0x04,
  websocket: 0x08,
  tls: 0x10,
  localAddress: 0x20,
  certificate: 0x40,
  visitor: 0x80,
  errorCode: 0x100,
  backend: 0x200,
  tunnel: 0x400,
  upstream: 0x800,
  cutShort: 0x1000,
} as const;
