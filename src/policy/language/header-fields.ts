/** Header fields in the configuration of actions, and their values for a request. */
import { CelFailure } from "../../cel/values/cel-failure.ts";
import { f } from "../../schema/fields.ts";
import type { StringFormat } from "../../schema/fields.ts";
import { headerName } from "../../schema/header-name.ts";
import { fieldText } from "../../traffic/tls-certificates.ts";
import type { ActionScope } from "./action.ts";
import type { PolicyContext } from "./policy-context.ts";
import type { Template } from "./template.ts";

const policyHeaderName: StringFormat = { ...headerName, reason: "policy_header_name_invalid" };

const headerValue: StringFormat = {
  name: "header-value",
  example: "${conn.client_ip}",
  reason: "policy_header_value_invalid",
  check: (text) => (/[\0\r\n]/.test(text) ? "have no line break and no NUL" : undefined),
};

export const headerNameField = f.string("A name.", { minBytes: 1, maxBytes: 255, format: policyHeaderName });
const valueField = f.string("A value; can contain `${…}`.", { maxBytes: 4096, format: headerValue });

export const headersToAdd = f.map("Fields to add.", valueField, {
  required: true,
  minItems: 1,
  maxItems: 10,
  key: headerNameField,
});

export const answerHeaders = f.map("Header fields of the answer.", valueField, { key: headerNameField, maxItems: 10 });

export const requestHeaders = f.map("Header fields of the request.", valueField, {
  key: headerNameField,
  maxItems: 10,
});

export type HeaderTemplates = readonly (readonly [name: string, value: Template])[];

export function compileHeaders(headers: Readonly<Record<string, string>>, scope: ActionScope): HeaderTemplates {
  return Object.entries(headers).map(([name, value]) => [name, scope.template(value, `headers.${name}`)] as const);
}

/**
 * Returns the value of one field. Returns a failure if a value is missing or would break the message (CR, LF, NUL).
 * Percent-encodes characters beyond ASCII.
 */
export function headerValueOf(name: string, template: Template, context: PolicyContext): string | CelFailure {
  const text = template.text(context);
  if (text instanceof CelFailure) return text;
  if (/[\0\r\n]/.test(text)) return new CelFailure(`the value of "${name}" contains a line break or NUL`);
  const trimmed = text.trim();
  const spent = context.spendText(trimmed.length);
  if (spent) return spent;
  return /^[\t\x20-\x7e]*$/.test(trimmed) ? trimmed : encodeField(trimmed, context);
}

/** Each character beyond ASCII becomes up to nine characters. */
function encodeField(text: string, context: PolicyContext): string | CelFailure {
  return context.makeText(9 * text.length) ?? fieldText(text.replaceAll("\t", " "));
}

/** Returns all fields, or the first failure. */
export function headerValuesOf(
  templates: HeaderTemplates,
  context: PolicyContext,
): Record<string, string> | CelFailure {
  const values: Record<string, string> = {};
  for (const [name, template] of templates) {
    const value = headerValueOf(name, template, context);
    if (value instanceof CelFailure) return value;
    values[name] = value;
  }
  return values;
}
