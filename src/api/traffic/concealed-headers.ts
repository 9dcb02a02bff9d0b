/** Conceals headers of a dry run from callers who may not read secrets, because the configuration may add secrets. */
import type { ExplanationReport, RequestDescription } from "../../routing/planes/edge-questions.ts";
import { secretMask } from "../../schema/concealment.ts";
import type { Field, Fields } from "../../schema/fields.ts";
import { inputName } from "../../schema/doc.ts";
import type { Doc } from "../../schema/doc.ts";

type Pairs = ExplanationReport["requestHeaders"];

/**
 * Masks every header value that the caller did not describe. If the configuration may add a header of that name,
 * its value is masked too. Otherwise a description could confirm a guess.
 * @param route the document and fields of the route that decided; undefined if unknown
 */
export function withoutAdded(
  report: ExplanationReport,
  described: RequestDescription | undefined,
  route: { readonly doc: Doc; readonly fields: Fields } | undefined,
): ExplanationReport {
  const added = route && namesAdded(route.fields, route.doc);
  const conceal = (pairs: Pairs, headers: Pairs): Pairs => {
    const known = new Set(headers.map(([name, value]) => `${name.toLowerCase()}: ${value.trim()}`));
    return pairs.map(([name, value]): readonly [string, string] => {
      const lower = name.toLowerCase();
      const isGiven = added !== undefined && !added.has(lower) && known.has(`${lower}: ${value}`);
      return [name, isGiven || value === "" ? value : secretMask];
    });
  };
  const { requestHeaders, response } = report;
  return {
    ...report,
    // Expressions and their values reveal the configuration and the compared values.
    steps: report.steps.map(({ rule: _rule, ...step }) => step),
    requestHeaders: conceal(requestHeaders, [...(described?.headers ?? []), ["host", described?.host ?? ""]]),
    response: response && { ...response, headers: conceal(response.headers, described?.response?.headers ?? []) },
  };
}

/**
 * Returns the header names whose values in the document may be secret. Undefined if other values may be secret, which
 * may set any header.
 */
function namesAdded(fields: Fields, doc: Doc): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  return collectNames(fields, doc, names) ? names : undefined;
}

function collectNames(fields: Fields, doc: Doc, names: Set<string>): boolean {
  return Object.entries(fields).every(([name, field]: [string, Field]) => {
    const value = doc[inputName(name, field)];
    if (value === null || value === undefined || value === "") return true;
    if (field.type === "object") return collectNames(field.fields, value as Doc, names);
    if (field.type !== "map" || !field.of.sensitive) return !field.sensitive;
    for (const key of Object.keys(value)) names.add(key.toLowerCase());
    return true;
  });
}
