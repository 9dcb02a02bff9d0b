import type { FieldTable } from "./field-table.ts";

/**
 * Whether a request expects 100-continue and nothing else: one member in all of its Expect lines together, a list with
 * empty members allowed (RFC 9110 §5.6.1, §10.1.1). Ask only where `expectIndex` says that there is one.
 */
export function expectsOnlyContinue(fields: FieldTable): boolean {
  const members = fields
    .getAll("expect")
    .flatMap((value) => value.split(","))
    .map((member) => member.trim().toLowerCase())
    .filter((member) => member !== "");
  return members.length === 1 && members[0] === "100-continue";
}
