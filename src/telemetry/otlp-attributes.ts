/** Attributes of spans, log records and resources: names are encoded once, values when they are written. */
import type { ProtoWriter } from "./proto-writer.ts";

export type AttributeValue = string | number | boolean | readonly string[];
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>;

/** Numbers of the fields of `KeyValue`, `AnyValue` and `ArrayValue` (opentelemetry/proto/common/v1/common.proto). */
const keyValue = { key: 1, value: 2 } as const;
const anyValue = { text: 1, boolean: 2, whole: 3, double: 4, list: 5 } as const;
const listValues = 1;

/** Maximum characters of a value. Longer ones are cut. */
const maxText = 2048;
/** Maximum number of names whose encoding is kept. Code chooses names, apart from log fields. */
const maxKeys = 1_000;

const keys = new Map<string, Uint8Array>();

/** Writes an attribute as a field of the current message. */
export function writeAttribute(to: ProtoWriter, field: number, name: string, value: AttributeValue): void {
  const start = to.begin(field);
  to.raw(keyOf(name));
  const inner = to.begin(keyValue.value);
  writeValue(to, value);
  to.end(inner);
  to.end(start);
}

export function writeAttributes(to: ProtoWriter, field: number, attributes: Attributes): void {
  for (const name in attributes) {
    const value = attributes[name];
    if (value !== undefined) writeAttribute(to, field, name, value);
  }
}

/** Writes an `AnyValue` into the current message. */
export function writeValue(to: ProtoWriter, value: AttributeValue): void {
  if (typeof value === "string") to.text(anyValue.text, value.length > maxText ? value.slice(0, maxText) : value);
  else if (typeof value === "boolean") to.boolean(anyValue.boolean, value);
  else if (typeof value !== "number") {
    const list = to.begin(anyValue.list);
    for (const one of value) {
      const start = to.begin(listValues);
      writeValue(to, one);
      to.end(start);
    }
    to.end(list);
  } else if (Number.isSafeInteger(value) && value >= 0) to.number(anyValue.whole, value);
  else to.double(anyValue.double, value);
}

/** The name as an encoded field. */
function keyOf(name: string): Uint8Array {
  const known = keys.get(name);
  if (known !== undefined) return known;
  if (keys.size >= maxKeys) keys.clear();
  const text = Buffer.from(name.slice(0, 120));
  const made = Buffer.from([(keyValue.key << 3) | 2, text.length, ...text]);
  keys.set(name, made);
  return made;
}
