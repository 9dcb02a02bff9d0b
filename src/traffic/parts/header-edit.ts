import { FieldBlock } from "../../lib/field-block.ts";
import { f } from "../../schema/fields.ts";
import type { Concealment, StringFormat } from "../../schema/fields.ts";
import { headerName } from "../../schema/header-name.ts";
import { fieldText, encodeUnprintable } from "../tls-certificates.ts";
import type { Exchange } from "../exchange.ts";
import type { HeaderFields } from "../header-fields.ts";
import { isVerbatim, readerOf } from "../variables/variables.ts";

const headerValue: StringFormat = {
  name: "header-value",
  example: "${conn.client_ip}",
  check(text) {
    if (/[^\t\x20-\x7e]/.test(text)) return "be visible ASCII: no control characters, others percent-encoded";
    return text !== text.trim() ? "not begin or end with a space" : undefined;
  },
};

const maxEdits = 32;
const name = f.string("A header name.", { maxBytes: 256, format: headerName });

/**
 * The fields of both header modules.
 * @param sensitive how added values are concealed
 */
export function headerEditFields(sensitive: true | Concealment) {
  return {
    add: f.map(
      "Header fields to add, after the removals. Values may hold variables as `${…}`, listed in the reference; unknown and empty ones are left out.",
      f.string("A value.", { maxBytes: 4096, format: headerValue, sensitive }),
      { key: name, maxItems: maxEdits },
    ),
    remove: f.list("Names of header fields to remove, with all their values.", name, {
      maxItems: maxEdits,
      unique: true,
    }),
  };
}

type Edit = (exchange: Exchange, headers: HeaderFields) => void;

/**
 * Applies `remove`, then `add` to header fields. Throws for protected fields, in case a configuration arrives here
 * without validation.
 * @param replaced names that can occur only once
 */
export function compileHeaderEdit(
  { add, remove }: { readonly add: Readonly<Record<string, string>>; readonly remove: readonly string[] },
  replaced: ReadonlySet<string>,
): Edit {
  for (const name of [...remove, ...Object.keys(add)]) requireFormat(headerName, name);
  for (const value of Object.values(add)) requireFormat(headerValue, value);
  const removed = remove.map((name) => name.toLowerCase());
  const additions = Object.entries(add).map(([name, value]) => ({
    name: name.toLowerCase(),
    value: compileValue(value),
    replaces: replaced.has(name.toLowerCase()),
  }));
  // Everything that is equal for all messages is validated and encoded once.
  const block = new FieldBlock(
    additions.flatMap(({ name, value, replaces }) => (typeof value === "string" && !replaces ? [name, value] : [])),
  );
  const computed = additions.filter(({ value, replaces }) => replaces || typeof value !== "string");
  return (exchange, headers) => {
    for (const name of removed) headers.delete(name);
    if (block.fields.length > 0) headers.appendBlock(block);
    for (const { name, value, replaces } of computed) {
      const text = typeof value === "string" ? value : fillParts(value, exchange);
      if (replaces) headers.set(name, text);
      else headers.append(name, text);
    }
  };
}

function requireFormat(format: StringFormat, text: string): void {
  const wrong = format.check(text);
  if (wrong !== undefined) throw new Error(`edit the header field ${JSON.stringify(text)}: it must ${wrong}`);
}

/** Maximum size of the variables in one value, bytes. */
const maxFilledBytes = 8192;

type ValuePart = string | ((exchange: Exchange) => string);

/** Compiles to literal text, or to alternating text and variables. */
function compileValue(template: string): string | readonly ValuePart[] {
  const parts = template
    .split(/(\$\{[^{}]*\})/)
    .filter((part) => part !== "")
    .map((part): ValuePart => (part.startsWith("${") ? variablePart(part.slice(2, -1).trim()) : part));
  return parts.every((part) => typeof part === "string") ? parts.join("") : parts;
}

/**
 * Variable values can come from anywhere, so characters that a field value must not contain are percent-encoded
 * (control P4).
 */
function variablePart(name: string): ValuePart {
  const read = readerOf(name);
  const encode = isVerbatim(name) ? encodeUnprintable : fieldText;
  return (exchange) => encode(read(exchange));
}

function fillParts(parts: readonly ValuePart[], exchange: Exchange): string {
  let text = "";
  for (const part of parts) text += typeof part === "string" ? part : part(exchange);
  return text.slice(0, maxFilledBytes).trim();
}
