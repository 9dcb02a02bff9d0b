/** Reads policies and their tests from files or standard input. */
import { readFileSync } from "node:fs";
import { utf8Text } from "../../lib/utf8.ts";
import { oneOf } from "../../settings/kinds/text.ts";
import { flagOnly, one } from "../../settings/setting.ts";
import { Failure } from "../process/exit.ts";

/** Maximum number of files of one command. */
export const maxFiles = 1000;

export const protocolSetting = flagOnly(
  one("Protocol of the policy's endpoint.", oneOf(["http", "tls", "tcp"]), { default: "http" }),
);

/**
 * @param file `-` is standard input
 * @throws Failure for an unreadable file, or one larger than `maxBytes`
 */
export function readPolicyFile(file: string, maxBytes: number): string {
  try {
    const bytes = readFileSync(file === "-" ? 0 : file);
    if (bytes.length > maxBytes) throw new Error(`the file is larger than ${maxBytes} bytes`);
    return utf8Text(bytes);
  } catch (error) {
    throw new Failure("usage", `cannot read "${file}": ${(error as Error).message}`, { cause: error });
  }
}
