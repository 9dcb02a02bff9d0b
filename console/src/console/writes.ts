/** One write: rehearsed at the server first, then executed. */
import { PosternError, answerOf, errorCodes } from "../../../sdk/src/index.ts";
import type { Answer } from "../../../sdk/src/index.ts";
import { callOperation } from "./api.ts";
import type { ApiObject, Json, JsonObject } from "./api.ts";
import { inputOf } from "./description.ts";
import type { Description, Kind } from "./description.ts";

/** A write that the user reviews. */
export interface Change {
  readonly kind: Kind;
  /** Ids in its path before its own. */
  readonly parents: readonly string[];
  /** Absent for a creation. */
  readonly object?: ApiObject;
  /** All fields after the write; null for a deletion. */
  readonly input: JsonObject | null;
}

/**
 * @param base object as it was read
 * @param patch changed fields
 * @param reason for the history; "": none
 */
export async function writeObject(
  { kind, parents, object, input }: Change,
  base: ApiObject | undefined,
  patch: JsonObject,
  reason: string,
): Promise<ApiObject | undefined> {
  const options = { ...(reason !== "" && { reason }), ...(base && { ifMatch: base }), waitSeconds: 2 };
  if (input === null) return void (await callOperation(kind.remove ?? "", ...parents, object?.id, options));
  if (!object)
    return await callOperation(kind.create ?? "", ...parents, input, {
      ...options,
      idempotencyKey: crypto.randomUUID(),
    });
  return await callOperation(kind.update ?? "", ...parents, object.id, patch, options);
}

/** Whether another user has changed the object in the meantime. */
export function isOvertaken(failure: unknown): boolean {
  return failure instanceof PosternError && failure.code === errorCodes.precondition_failed;
}

export interface Tried {
  /** Object after the write, with defaults filled in; absent for a deletion. */
  readonly object?: ApiObject;
  readonly warnings: readonly string[];
  /** Further changes, such as `delete ip_policy_rule` and an id. */
  readonly also: readonly string[];
}

/** Returns the server's preview of the write. Nothing is changed. */
export async function previewWrite(
  { kind, parents, object, input }: Change,
  base: ApiObject | undefined,
  patch: JsonObject,
): Promise<Tried> {
  const options = { dry_run: true, ...(base && { ifMatch: base }) };
  if (input === null) {
    let also: readonly string[] = [];
    const onAnswer = (answer: Answer): void => void (also = answer.also);
    await callOperation(kind.remove ?? "", ...parents, object?.id, { ...options, onAnswer });
    return { warnings: [], also };
  }
  const found = object
    ? await callOperation(kind.update ?? "", ...parents, object.id, patch, options)
    : await callOperation(kind.create ?? "", ...parents, input, options);
  const { warnings, also } = answerOf(found);
  return { object: found, warnings, also };
}

/** Returns the object as input for a change. */
export function fieldsOf(object: ApiObject, kind: Kind, { resolve }: Description): JsonObject {
  return inputOf(object, kind.updateSchema ?? kind.createSchema ?? kind.shown, resolve) as JsonObject;
}

/** Returns a new object as the server would create it: given fields and meaningful defaults. */
export function newFieldsOf(object: ApiObject, present: JsonObject, kind: Kind, { resolve }: Description): JsonObject {
  const whole = inputOf(object, kind.createSchema ?? {}, resolve) as JsonObject;
  return Object.fromEntries(Object.entries(whole).filter(([name, value]) => name in present || saysSomething(value)));
}

function saysSomething(value: Json): boolean {
  if (value === null || value === "" || value === false) return false;
  return typeof value !== "object" || Object.values(value).some(saysSomething);
}

/** Returns the fields that differ. */
export function patchOf(before: JsonObject | undefined, input: JsonObject | null): JsonObject {
  if (!before || !input) return input ?? {};
  return Object.fromEntries(
    Object.entries(input).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])),
  );
}
