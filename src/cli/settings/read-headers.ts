import { Failure } from "../process/exit.ts";
import { namedText } from "../../settings/kinds/text.ts";
import { flagOnly, many } from "../../settings/setting.ts";

export const headerSetting = flagOnly(many("Header field; repeatable.", namedText("NAME:VALUE"), { short: "H" }));

/** Parses `NAME: VALUE` lines into fields with lower-case names. Throws `Failure` (usage). */
export function readHeaders(lines: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon < 1) throw new Failure("usage", `--header must be "NAME: VALUE", not "${line}"`);
    fields[line.slice(0, colon).trim().toLowerCase()] = line.slice(colon + 1).trim();
  }
  return fields;
}
