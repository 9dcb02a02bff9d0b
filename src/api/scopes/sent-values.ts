/** Values that traffic sends upstream, and that only readers with `secrets` can see. */
import type { Doc } from "../../schema/doc.ts";
import { inputName } from "../../schema/doc.ts";
import type { Concealment, Field, Fields } from "../../schema/fields.ts";
import type { StoredObject } from "../../storage/store.ts";
import { modulesOf, resourceNamed, resources } from "../operation/resource-declarations.ts";

/** A concealed text with its field's declaration. */
interface SealedText {
  readonly path: string;
  readonly text: string;
  readonly concealment: Concealment | true;
}

/** Returns the values by path, such as `request_headers.add.authorization`. */
export function listSentValues(object: StoredObject): ReadonlyMap<string, string> {
  return new Map(textsOf(object).flatMap((one) => (isSent(one) ? [[one.path, one.text] as const] : [])));
}

/** Whether a policy of the object forwards requests to internal endpoints. */
export function isForwarding(object: StoredObject): boolean {
  return textsOf(object).some(({ concealment, text }) => concealment !== true && concealment.forwards?.(text));
}

/** Kinds of objects that may send values. */
export const sendingKinds: readonly string[] = resources
  .filter(({ fields }) => maySend(fields))
  .map(({ name }) => name);

/**
 * Whether `after` has a new receiver of the whole request: its upstream, the choice of the upstream, or a text that is
 * filled from the request and sent elsewhere.
 */
export function hasNewOutlet(before: StoredObject, after: StoredObject): boolean {
  const choosing = modulesOf(resourceNamed(after.kind)).filter(([{ acts }]) =>
    acts.request?.includes("choose the upstream"),
  );
  const isChanged = choosing.some(([{ name }]) => {
    const [earlier, now] = [before.doc[name], after.doc[name]];
    return now !== null && JSON.stringify(earlier) !== JSON.stringify(now);
  });
  if (isChanged) return true;
  const known = new Set(listTemplates(before));
  return listTemplates(after).some((text) => !known.has(text));
}

function listTemplates(object: StoredObject): string[] {
  return textsOf(object).flatMap((one) => (!isSent(one) && one.text.includes("${") ? [one.text] : []));
}

function isSent({ concealment, text }: SealedText): boolean {
  return concealment !== true && (concealment.sends?.(text) ?? false);
}

function textsOf({ kind, doc }: StoredObject): SealedText[] {
  return collectTexts(resourceNamed(kind).fields, doc, "");
}

function collectTexts(fields: Fields, doc: Doc, at: string): SealedText[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const key = inputName(name, field);
    return field.live ? [] : valueTexts(field, doc[key], at + key);
  });
}

function valueTexts(field: Field, value: unknown, path: string): SealedText[] {
  if (value === null || value === undefined || value === "") return [];
  if (field.sensitive && typeof value === "string") return [{ path, text: value, concealment: field.sensitive }];
  if (field.type === "object") return collectTexts(field.fields, value as Doc, `${path}.`);
  if (field.type !== "map") return [];
  return Object.entries(value).flatMap(([name, one]) => valueTexts(field.of, one, `${path}.${name}`));
}

function maySend(fields: Fields): boolean {
  return Object.values(fields).some((field) => {
    if (field.live) return false;
    if (field.type === "object") return maySend(field.fields);
    const { sensitive } = field.type === "map" ? field.of : field;
    return typeof sensitive === "object" && sensitive.sends !== undefined;
  });
}
