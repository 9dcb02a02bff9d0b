import type { Field, Fields } from "../../src/schema/fields.ts";
import { inputName } from "../../src/schema/doc.ts";
import { toCode, renderTable } from "./markdown.ts";

/** Returns the fields of a resource or module. Nested fields are named by their path. */
export function fieldsTable(fields: Fields): string {
  const rows = rowsOf(fields, "");
  return rows.length === 0 ? "" : renderTable(["Field", "Type", "Meaning"], rows);
}

function rowsOf(fields: Fields, prefix: string): string[][] {
  return Object.entries(fields).flatMap(([name, field]) => {
    if (field.internal) return [];
    const input = inputName(name, field);
    const path = prefix + name;
    const shown = input === name ? toCode(path) : `${toCode(path)}, given as ${toCode(prefix + input)}`;
    const facts = factsOf(field);
    const row = [shown, typeOf(field), field.doc + (facts.length > 0 ? ` *(${facts.join("; ")})*` : "")];
    const inner = "of" in field ? field.of : field;
    return inner.type === "object" ? [row, ...rowsOf(inner.fields, `${path}.`)] : [row];
  });
}

function typeOf(field: Field): string {
  switch (field.type) {
    case "string":
      return field.format ? field.format.name.replaceAll("-", " ") : "text";
    case "oneOf":
      return field.values.map((value) => toCode(value ?? "null")).join(" or ");
    case "list":
      return `list of ${typeOf(field.of)}`;
    case "map":
      return `map to ${typeOf(field.of)}`;
    case "ref":
      return `one ${renderKinds(field.to)}`;
    case "refList":
      return `list of ${renderKinds(field.to)}`;
    case "children":
      return `list of ${renderKinds([field.kind])}`;
    default:
      return field.type;
  }
}

function renderKinds(to: readonly string[]): string {
  return to.map((kind) => kind.replaceAll("_", " ")).join(" or ");
}

function factsOf(field: Field): string[] {
  const facts: string[] = [];
  if (field.required) facts.push("required");
  if (field.immutable) facts.push("cannot be changed later");
  if (field.readOnly || field.live) facts.push("read only");
  if (field.writeOnly) facts.push("never shown");
  if (field.secret) facts.push("secret");
  if (field.nullable) facts.push("may be `null`");
  if (field.alias !== undefined) facts.push(`also accepted as \`${field.alias}\``);
  if (field.type === "string") facts.push(`at most ${field.maxBytes} bytes`);
  if (field.type === "integer" || field.type === "number") facts.push(`${field.min} to ${field.max}`);
  // Computed values are shown completely.
  const isCounted = field.type === "list" || field.type === "map" || field.type === "refList";
  if (isCounted && !field.live) facts.push(`at most ${field.maxItems}`);
  const fallback = field.default;
  const isEmpty =
    fallback === undefined || fallback === null || ["", "[]", "{}", '""'].includes(JSON.stringify(fallback));
  if (!isEmpty && !field.required)
    facts.push(`default ${toCode(typeof fallback === "string" ? fallback : JSON.stringify(fallback))}`);
  return facts;
}
