/** Whole requests of OTLP: items of one signal, with the resource and scope that made them. */
import { writeAttributes } from "./otlp-attributes.ts";
import type { Attributes } from "./otlp-attributes.ts";
import { longMessage, ProtoWriter } from "./proto-writer.ts";

/** Program that made the items. */
export interface Maker {
  readonly resource: Attributes;
  readonly version: string;
}

/** The same numbers for every signal (opentelemetry/proto/collector). */
const fields = { ofResource: 1, resource: 1, ofScope: 2, scope: 1 } as const;
const resourceAttributes = 1;
const scopeFields = { name: 1, version: 2 } as const;

/**
 * Returns the request in pieces, so that no item is copied.
 * @param items whole fields `spans`, `metrics` or `log_records` of one scope
 */
export function requestOf(items: readonly Uint8Array[], { resource, version }: Maker): readonly Uint8Array[] {
  const to = new ProtoWriter();
  const its = to.begin(fields.scope);
  to.text(scopeFields.name, "postern");
  to.text(scopeFields.version, version);
  to.end(its);
  const scope = encodeMessage(fields.ofScope, [to.take(), ...items]);
  const start = to.begin(fields.resource, longMessage);
  writeAttributes(to, resourceAttributes, resource);
  to.end(start, longMessage);
  return encodeMessage(fields.ofResource, [to.take(), ...scope]);
}

/** A message as a field, in pieces. */
function encodeMessage(field: number, pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  const head = new ProtoWriter();
  head.lengthOf(
    field,
    pieces.reduce((sum, { length }) => sum + length, 0),
  );
  return [head.take(), ...pieces];
}
