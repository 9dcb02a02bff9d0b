import type { Field, Fields } from "./fields.ts";
import { inputName } from "./doc.ts";
import type { Doc } from "./doc.ts";

export interface Reference {
  /** Position in the document, such as `backend.backend_id`. */
  readonly path: string;
  /** Kinds that the object may have. */
  readonly to: readonly string[];
  readonly id: string;
}

/** All references in `doc`, including those in nested objects, lists and map keys. */
export function findReferences(fields: Fields, doc: Doc, at = "", found: Reference[] = []): Reference[] {
  for (const name in fields) {
    const field = fields[name] as Field;
    if (field.live) continue;
    const key = inputName(name, field);
    collectReferences(field, doc[key], at + key, found);
  }
  return found;
}

/** The fields that can contain references, so that scanning many objects is cheap. */
export function referringFields(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, field]) => !field.live && canRefer(field)));
}

function canRefer(field: Field): boolean {
  switch (field.type) {
    case "ref":
    case "refList":
      return true;
    case "object":
      return Object.values(field.fields).some((inner) => !inner.live && canRefer(inner));
    case "list":
      return canRefer(field.of);
    case "map":
      return field.keysTo !== undefined;
    default:
      return false;
  }
}

function collectReferences(field: Field, value: unknown, path: string, found: Reference[]): void {
  if (value === null || value === undefined) return;
  switch (field.type) {
    case "ref":
      found.push({ path, to: field.to, id: value as string });
      break;
    case "refList":
      (value as readonly string[]).forEach((id, index) => found.push({ path: `${path}[${index}]`, to: field.to, id }));
      break;
    case "object":
      findReferences(field.fields, value as Doc, `${path}.`, found);
      break;
    case "list":
      if (field.of.type === "object" || field.of.type === "ref") {
        (value as readonly unknown[]).forEach((item, index) =>
          collectReferences(field.of, item, `${path}[${index}]`, found),
        );
      }
      break;
    case "map":
      if (field.keysTo) {
        for (const id of Object.keys(value)) found.push({ path: `${path}.${id}`, to: field.keysTo, id });
      }
      break;
    default:
  }
}
