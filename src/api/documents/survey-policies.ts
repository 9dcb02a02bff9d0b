/**
 * Compiles the policies of a document before its write, one per event-loop turn. The write runs in one turn and then
 * uses the cached results.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { JsonObject } from "../../lib/json.ts";
import { Refusal } from "../../lib/errors.ts";
import { maxPolicyBytes, policyText } from "../../policy/policy-document.ts";
import type { Layer } from "../../policy/language/action.ts";
import { surveyPolicy } from "../../policy/survey.ts";
import type { Field, Fields } from "../../schema/fields.ts";
import { inputName } from "../../schema/doc.ts";

import type { Document, DocumentEntry } from "./document.ts";
import { isJsonObject } from "../../lib/json.ts";

/** Maximum number of steps to compile the policies of one document. A step takes half a microsecond. */
const documentSteps = 40_000_000;

/** Rejects with `Refusal` if compiling takes too long. */
export async function surveyPolicies(document: Document, operationId: string, maxSteps = documentSteps): Promise<void> {
  const known = new Set<string>();
  let steps = 0;
  for (const entry of document.entries.values()) {
    const layer = layerOf(entry);
    for (const text of policiesIn(entry.resource.fields, entry.fields)) {
      if (known.has(text) || Buffer.byteLength(text) > maxPolicyBytes) continue;
      known.add(text);
      steps += surveyPolicy(text, layer).steps;
      if (steps > maxSteps) {
        throw new Refusal("work_too_long", `${operationId}: compiling the policies up to ${entry.path} takes too long`);
      }
      await nextTurn();
    }
  }
}

function layerOf({ resource, fields }: DocumentEntry): Layer {
  const { url } = fields;
  const [, protocol] = /^(tls|tcp)(?:_edge$|:)/.exec(typeof url === "string" ? url : resource.name) ?? [];
  return (protocol as Layer | undefined) ?? "http";
}

/** Returns the texts of fields that contain a policy. Wrong types are left to the parser. */
function policiesIn(fields: Fields, input: JsonObject): string[] {
  return Object.entries(fields).flatMap(([name, field]: [string, Field]) => {
    const value = input[inputName(name, field)];
    if (field.type === "object") return isJsonObject(value) ? policiesIn(field.fields, value) : [];
    return field.type === "string" && field.format === policyText && typeof value === "string" ? [value] : [];
  });
}
