/** The `replacements` of find-replace actions: their declaration, compilation, and resolution for a request. */
import { patternOf } from "../../cel/values/regex.ts";
import type { Pattern } from "../../cel/values/regex.ts";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import { listOf, objectType, types } from "../../cel/checking/cel-types.ts";
import { toInt } from "../../cel/values/cel-values.ts";
import type { Value } from "../../cel/values/cel-values.ts";
import { f } from "../../schema/fields.ts";
import type { ActionScope } from "../language/action.ts";
import type { PolicyContext } from "../language/policy-context.ts";
import type { Template } from "../language/template.ts";
import type { FoundMatch, TextReplacement } from "./replacing.ts";
import { compileReplacement } from "./replacement.ts";
import type { Replacement } from "./replacement.ts";

export const replacementFields = {
  from: f.string("Regular expression (RE2) to replace; can contain `${…}`.", {
    required: true,
    minBytes: 1,
    maxBytes: 1024,
  }),
  to: f.string("Replacement, with groups as `$1`; can contain `${…}`.", { maxBytes: 4096 }),
} as const;

export const replacementList = { required: true, minItems: 1, maxItems: 50 } as const;

/** Results for later expressions. */
export const replacementResults = {
  replacements: listOf(objectType("a replacement", { replacement_index: types.int, matched_content: types.string })),
} as const;

/** Constant parts are already compiled. */
export interface ReplacementTemplate {
  readonly from: Template;
  readonly to: Template;
  readonly pattern: Pattern | undefined;
  readonly replacement: Replacement | undefined;
}

export function compileReplacements(
  list: readonly { readonly from: string; readonly to: string }[],
  scope: ActionScope,
): readonly ReplacementTemplate[] {
  return list.map((one, index) => {
    const from = scope.template(one.from, `replacements[${index}].from`);
    const to = scope.template(one.to, `replacements[${index}].to`);
    return {
      from,
      to,
      pattern: from.constant === undefined ? undefined : scope.pattern(from.constant, `replacements[${index}].from`),
      replacement: to.constant === undefined ? undefined : compileReplacement(to.constant),
    };
  });
}

/** Resolves them with the values of this request, or returns the reason for a failure. */
export function replacementsOf(
  templates: readonly ReplacementTemplate[],
  context: PolicyContext,
): TextReplacement[] | CelFailure {
  const list: TextReplacement[] = [];
  for (const { from, to, pattern, replacement } of templates) {
    const source = pattern ? "" : from.text(context);
    if (source instanceof CelFailure) return source;
    const compiled = pattern ?? patternOf(source, context);
    if (compiled instanceof CelFailure) return compiled;
    const pieces = replacement ? [] : to.pieces(context);
    if (pieces instanceof CelFailure) return pieces;
    list.push({ pattern: compiled, to: replacement ?? compileReplacement(pieces) });
  }
  return list;
}

export function toValues(matches: readonly FoundMatch[]): Value {
  return matches.map(({ replacement_index, matched_content }) => ({
    replacement_index: toInt(replacement_index),
    matched_content,
  }));
}
