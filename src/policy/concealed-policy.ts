/**
 * A traffic policy for readers without access to secrets: its phases, rules and actions, and the names, numbers and
 * choices of its configuration. All other texts are masked, including expressions, because any of them may contain a
 * credential.
 */
import { parseYamlObject, renderYaml } from "../lib/yaml.ts";
import type { JsonObject } from "../lib/json.ts";
import { secretMask } from "../schema/concealment.ts";
import type { Concealment, Field, Fields, ObjectField } from "../schema/fields.ts";
import { actionsByName } from "./actions/index.ts";
import { idsInPolicy, secretsInPolicy } from "./policy-mentions.ts";
import { isJsonObject } from "../lib/json.ts";

/** Formats of texts that cannot be a credential. */
const harmless: ReadonlySet<string> = new Set(["cidr", "duration", "header-name"]);

export const concealedPolicy: Concealment = {
  standIn(text) {
    const policy = readPolicy(text);
    if (!policy) return secretMask;
    const shown = Object.fromEntries(
      Object.entries(policy).map(([phase, rules]) => [
        phase,
        Array.isArray(rules) ? rules.map(concealRule) : flattenRules(rules),
      ]),
    );
    // Keeps the format, JSON or YAML, for readers who edit the text.
    return /^\s*\{/.test(text) ? JSON.stringify(shown) : renderYaml(shown);
  },
  isStandIn(text) {
    // Parsing is expensive. A text without a mask needs none.
    if (!text.includes(secretMask)) return false;
    if (text === secretMask) return true;
    return hasMask(readPolicy(text));
  },
  mentions: idsInPolicy,
  secrets: secretsInPolicy,
  holdsSecret(text) {
    const policy = readPolicy(text);
    return !policy || Object.values(policy).some((rules) => Array.isArray(rules) && rules.some(ruleHoldsSecret));
  },
  sends: (text) => hasAction(text, sending),
  forwards: (text) => hasAction(text, forwarding),
};

/** Actions that write texts of the policy into the request. */
const sending: ReadonlySet<string> = new Set(["add-headers", "url-rewrite", "request-body-find-replace"]);
const forwarding: ReadonlySet<string> = new Set(["forward-internal"]);
/** By their present and older names. */
const responsePhases: ReadonlySet<string> = new Set(["on_http_response", "on_event_stream_message", "outbound"]);

/** Whether rules for requests have one of these actions. An unreadable policy may have any. */
function hasAction(text: string, types: ReadonlySet<string>): boolean {
  const policy = readPolicy(text);
  if (!policy) return true;
  const rules = Object.entries(policy).flatMap(([phase, value]) => (responsePhases.has(phase) ? [] : value));
  return rules.some((one) => {
    const actions = isJsonObject(one) ? one["actions"] : undefined;
    return Array.isArray(actions) && actions.some((value) => isJsonObject(value) && types.has(String(value["type"])));
  });
}

function ruleHoldsSecret(value: unknown): boolean {
  const actions = isJsonObject(value) ? value["actions"] : undefined;
  return Array.isArray(actions) && actions.some(actionHoldsSecret);
}

function actionHoldsSecret(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { type, config } = value;
  const fields = typeof type === "string" ? actionsByName.get(type)?.config : undefined;
  return valueHoldsSecret({ type: "object", fields: fields ?? {} }, config);
}

/** Names of header fields and parameters that carry credentials. */
const credentialName = /auth|cookie|token|key|secret|passw|credential|signature/i;

/** Whether `value` contains a literal text that is a credential, by its declaration or its name. */
function valueHoldsSecret(field: Pick<ObjectField, "type" | "fields"> | Field | undefined, value: unknown): boolean {
  if (typeof value === "string") {
    const isSecret = field !== undefined && field.type !== "object" && (field.secret || field.sensitive) !== undefined;
    return isSecret && isWrittenOut(value);
  }
  if (Array.isArray(value)) {
    return value.some((item) => valueHoldsSecret(field?.type === "list" ? field.of : undefined, item));
  }
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([name, inner]) => {
    const known = field?.type === "object" ? fieldOf(field.fields, name) : field?.type === "map" ? field.of : undefined;
    const isNamed = field?.type === "map" && credentialName.test(name);
    return (isNamed && typeof inner === "string" && isWrittenOut(inner)) || valueHoldsSecret(known, inner);
  });
}

/** Whether the text has parts outside of expressions. */
function isWrittenOut(text: string): boolean {
  return text.replaceAll(/\$\{[^{}]*\}/g, "").replaceAll(/\b(?:bearer|basic)\b|[\s:]/gi, "") !== "";
}

function concealRule(value: unknown): unknown {
  if (!isJsonObject(value)) return maskTexts(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, value]) => {
      if (name === "name") return [name, value];
      if (name === "actions" && Array.isArray(value)) return [name, value.map(concealAction)];
      return [name, maskTexts(value)];
    }),
  );
}

function concealAction(value: unknown): unknown {
  if (!isJsonObject(value)) return maskTexts(value);
  const { type, config, ...rest } = value;
  const fields = typeof type === "string" ? actionsByName.get(type)?.config : undefined;
  return {
    ...(type !== undefined && { type }),
    ...(config !== undefined && { config: concealConfig(fields ?? {}, config) }),
    ...(maskTexts(rest) as JsonObject),
  };
}

function concealConfig(fields: Fields, value: unknown): unknown {
  if (!isJsonObject(value)) return maskTexts(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, value]) => [name, showValue(fieldOf(fields, name), value)]),
  );
}

function fieldOf(fields: Fields, name: string): Field | undefined {
  if (Object.hasOwn(fields, name)) return fields[name];
  return Object.values(fields).find(({ alias }) => alias === name);
}

/** Returns the value. Masks every text unless its declaration excludes secrets. */
function showValue(field: Field | undefined, value: unknown): unknown {
  if (field?.secret || field?.sensitive) return maskTexts(value);
  switch (field?.type) {
    case "oneOf":
      return typeof value === "string" && field.values.includes(value) ? value : maskTexts(value);
    case "string":
      return typeof value === "string" && isHarmless(field, value) ? value : maskTexts(value);
    case "object":
      return concealConfig(field.fields, value);
    case "list":
      return Array.isArray(value) ? value.map((item) => showValue(field.of, item)) : maskTexts(value);
    default:
      return maskTexts(value);
  }
}

function isHarmless({ format }: Extract<Field, { readonly type: "string" }>, text: string): boolean {
  // The result of an expression is computed, so it is not literal text.
  if (text.includes("${")) return false;
  return format !== undefined && harmless.has(format.name) && format.check(text) === undefined;
}

/** Returns names and structure unchanged, and masks texts. */
function maskTexts(value: unknown): unknown {
  if (typeof value === "string") return value === "" ? "" : secretMask;
  if (Array.isArray(value)) return value.map(maskTexts);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, maskTexts(inner)]));
}

/** Returns `enabled`, or a phase without rules. */
function flattenRules(value: unknown): unknown {
  return maskTexts(value);
}

function hasMask(value: unknown): boolean {
  if (value === secretMask) return true;
  if (Array.isArray(value)) return value.some(hasMask);
  return isJsonObject(value) && Object.values(value).some(hasMask);
}

function readPolicy(text: string): JsonObject | undefined {
  try {
    return parseYamlObject(text);
  } catch {
    return undefined;
  }
}
