/** Writes that are tried and not made. */
import { Refusal } from "../../lib/errors.ts";
import type { Call } from "../operation/call.ts";
import { once } from "./pages.ts";

export const dryRunQuery = ["dry_run"] as const;

/** Whether the call only asks what it would do. Throws `Refusal`. */
export function isDryRun(call: Call): boolean {
  const text = once(call, "dry_run") ?? "false";
  if (text === "true" || text === "false") return text === "true";
  throw new Refusal("query_invalid", `${call.operation.id}: "dry_run" must be true or false`);
}
