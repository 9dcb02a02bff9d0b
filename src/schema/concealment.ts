/**
 * Values that not every reader may see. A `secret` is nothing but that; a `sensitive` value may hold a credential among
 * other things, so that it is sealed at rest like a secret, and shown whole only to those who may read secrets. The
 * others see a stand-in, which is never taken for the value when they send it back.
 */
import type { Concealment, Field } from "./fields.ts";

/** Shown instead of a value that the reader may not see. */
export const secretMask = "***";

const masked: Concealment = {
  standIn: () => secretMask,
  isStandIn: (text) => text === secretMask,
};

/** For values that are added to upstream requests. */
export const sentUpstream: Concealment = { ...masked, sends: () => true };

/** Whether the field's values are sealed at rest. */
export function isSealedField(field: Field): boolean {
  return field.secret === true || field.sensitive !== undefined;
}

/** Whether the field, or anything inside it, is sealed at rest. */
export function hasSealed(field: Field): boolean {
  if (field.type === "object") return Object.values(field.fields).some(hasSealed);
  if (field.type === "list" || field.type === "map") return isSealedField(field) || hasSealed(field.of);
  return isSealedField(field);
}

/** Whether exports and other documents omit a value of a sensitive field. */
export function holdsSecret(field: Field, value: unknown): boolean {
  if (typeof value !== "string") return true;
  const { holdsSecret: holds } = concealmentOf(field);
  // Text that consists only of variables is not a credential.
  return holds ? holds(value) : value.replaceAll(/\$\{[^{}]*\}/g, "").trim() !== "";
}

/** The form of a secret or sensitive value for readers without access. An unset value is not concealed. */
export function concealValue(field: Field, value: unknown): unknown {
  if (value === null || value === undefined || value === "") return value;
  return typeof value === "string" ? concealmentOf(field).standIn(value) : secretMask;
}

/** Whether `text` is the concealed form of a value, or contains parts of one. */
export function isStandIn(field: Field, text: string): boolean {
  return concealmentOf(field).isStandIn(text);
}

function concealmentOf({ sensitive }: Field): Concealment {
  return typeof sensitive === "object" ? sensitive : masked;
}
