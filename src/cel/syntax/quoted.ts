/** Decodes quoted literals. */
import { SourceFault } from "./source-fault.ts";

const simple: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
  "\\": 92,
  "?": 63,
  '"': 34,
  "'": 39,
  "`": 96,
};

const escape = /\\(?:([0-3][0-7]{2})|[xX]([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([abfnrtv\\?"'`])|)/g;

/** Throws `SourceFault` for an unknown escape. */
export function stringLiteral(inner: string, isRaw: boolean, at: number): string {
  if (isRaw || !inner.includes("\\")) return internText(inner);
  return internText(
    inner.replace(escape, (all: string, octal?: string, hex?: string, four?: string, eight?: string, one?: string) =>
      String.fromCodePoint(codePoint(all, octal, hex, four ?? eight, one, at)),
    ),
  );
}

/**
 * Copies a text as an internalized string. The copy does not keep the source in memory, and comparing and looking it up
 * takes a third of the time.
 */
function internText(text: string): string {
  return Object.keys({ [text]: true })[0] as string;
}

/** Returns the text as UTF-8. Octal and hexadecimal escapes are bytes. Throws `SourceFault`. */
export function bytesLiteral(inner: string, isRaw: boolean, at: number): Uint8Array {
  if (isRaw || !inner.includes("\\")) return Buffer.from(inner, "utf8");
  const parts: Uint8Array[] = [];
  let from = 0;
  for (const found of inner.matchAll(escape)) {
    const [all, octal, hex, four, eight, one] = found;
    if (four !== undefined || eight !== undefined) throw new SourceFault(at, `${all} cannot stand in bytes`);
    parts.push(Buffer.from(inner.slice(from, found.index), "utf8"));
    parts.push(Uint8Array.of(codePoint(all, octal, hex, undefined, one, at)));
    from = found.index + all.length;
  }
  parts.push(Buffer.from(inner.slice(from), "utf8"));
  return Buffer.concat(parts);
}

function codePoint(
  all: string,
  octal: string | undefined,
  hex: string | undefined,
  unicode: string | undefined,
  one: string | undefined,
  at: number,
): number {
  if (octal !== undefined) return Number.parseInt(octal, 8);
  if (one !== undefined) return simple[one] as number;
  const digits = hex ?? unicode;
  if (digits === undefined) {
    throw new SourceFault(
      at,
      "the string has an unknown escape",
      "write `\\\\` for a backslash, or r'…' for a raw string",
    );
  }
  const code = Number.parseInt(digits, 16);
  if (code > 0x10_ff_ff || (code >= 0xd8_00 && code <= 0xdf_ff)) throw new SourceFault(at, `${all} is not a character`);
  return code;
}
