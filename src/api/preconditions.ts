import { Refusal } from "../lib/errors.ts";

/** `If-Match` (RFC 9110 §13.1.1): refused unless it lists the present tag; weak tags never match. */
export function checkIfMatch(ifMatch: string | undefined, etag: string): void {
  if (ifMatch === undefined || ifMatch.trim() === "*") return;
  if (ifMatch.split(",").some((tag) => tag.trim() === etag)) return;
  throw new Refusal("precondition_failed", undefined, { etag });
}
