import { parseAuthority } from "./authority.ts";
import type { Authority } from "./authority.ts";
import type { FieldTable } from "./field-table.ts";

/** A Host field as sent, with the host and port that it names. */
export interface HostField extends Authority {
  readonly text: string;
}

/**
 * Parses the Host fields of one connection's requests. Most requests repeat the same value, so the last result is
 * cached.
 */
export class HostReader {
  #last: HostField | undefined;

  /** Parses the table's Host field. Returns undefined if it is not an authority (RFC 9110 §7.2). */
  read(fields: FieldTable): HostField | undefined {
    const last = this.#last;
    return last !== undefined && isSame(fields, last.text) ? last : this.readText(fields.valueAt(fields.hostIndex));
  }

  /** Parses text such as HTTP/2's `:authority`. */
  readText(text: string): HostField | undefined {
    if (this.#last?.text === text) return this.#last;
    const authority = parseAuthority(text);
    return (this.#last = authority && { ...authority, text });
  }
}

function isSame(fields: FieldTable, text: string): boolean {
  const { bytes, hostIndex } = fields;
  const start = fields.valueStart(hostIndex);
  if (fields.valueEnd(hostIndex) - start !== text.length) return false;
  for (let at = 0; at < text.length; at += 1) if (bytes[start + at] !== text.charCodeAt(at)) return false;
  return true;
}
