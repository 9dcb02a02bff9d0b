/** Answers without their secrets, for keys that may not see them. */
import type { Field, Fields } from "../../schema/fields.ts";
import { secretMask } from "../../schema/render.ts";
import type { Operation, Reply } from "../operation/call.ts";
import { resourceNamed } from "../operation/declarations.ts";

type Json = Readonly<Record<string, unknown>>;

/** The reply with every secret of the operation's resource masked. */
export function maskReply(operation: Operation, reply: Reply): Reply {
  const { resource, block, listKey } = operation;
  if (!resource || reply.body === undefined || reply.status >= 300) return reply;
  const blockField = block === undefined ? undefined : resource.fields[block];
  const fields = blockField?.type === "object" ? blockField.fields : resource.fields;
  if (!holdsSecrets(fields)) return reply;
  const body = JSON.parse(String(reply.body)) as Json;
  const masked =
    listKey === undefined
      ? maskFields(fields, body)
      : { ...body, [listKey]: (body[listKey] as readonly Json[]).map((one) => maskFields(fields, one)) };
  const { contentLength: _, ...rest } = reply;
  return { ...rest, body: JSON.stringify(masked) };
}

function maskFields(fields: Fields, shown: Json): Json {
  const out: Record<string, unknown> = { ...shown };
  for (const name of Object.keys(shown)) {
    const field = fields[name];
    if (field && holdsSecret(field)) out[name] = maskValue(field, shown[name]);
  }
  return out;
}

function maskValue(field: Field, value: unknown): unknown {
  if (value === null || value === undefined || value === "") return value;
  if (field.secret) return secretMask;
  switch (field.type) {
    case "object":
      return maskFields(field.fields, value as Json);
    case "list":
      return (value as readonly unknown[]).map((item) => maskValue(field.of, item));
    case "map":
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, maskValue(field.of, item)]));
    case "children":
      return (value as readonly Json[]).map((child) => maskFields(resourceNamed(field.kind).fields, child));
    default:
      return value;
  }
}

const known = new WeakMap<Fields, boolean>();

function holdsSecrets(fields: Fields): boolean {
  let found = known.get(fields);
  if (found === undefined) known.set(fields, (found = Object.values(fields).some(holdsSecret)));
  return found;
}

function holdsSecret(field: Field): boolean {
  if (field.secret) return true;
  if (field.type === "object") return holdsSecrets(field.fields);
  if (field.type === "list" || field.type === "map") return holdsSecret(field.of);
  return field.type === "children" && holdsSecrets(resourceNamed(field.kind).fields);
}
