import type { FieldTable } from "./field-table.ts";

/**
 * Whether a request expects only 100-continue: one member in all of its Expect lines together, where empty list members
 * are allowed (RFC 9110 §5.6.1, §10.1.1). Call it only if `expectIndex` is set.
 */
export function expectsOnlyContinue(fields: FieldTable): boolean {
  const members = fields
    .getAll("expect")
    .flatMap((value) => value.split(","))
    .map((member) => member.trim().toLowerCase())
    .filter((member) => member !== "");
  return members.length === 1 && members[0] === "100-continue";
}
