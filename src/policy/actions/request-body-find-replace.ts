import { captureWork } from "../../lib/heartbeat.ts";
import { isUtf8 } from "node:buffer";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import { Refusal } from "../../lib/errors.ts";
import { f } from "../../schema/fields.ts";
import { breakAction, breakWith, defineAction, makeDone, skipAction } from "../language/action.ts";
import type { ActionOutcome } from "../language/action.ts";
import type { PolicyContext } from "../language/policy-context.ts";
import { maxBodyBytes, replaceInBytes } from "../parts/find-replace.ts";
import { explainHidden, endUnreadable, unreadableField } from "../parts/readable-body.ts";
import { ReplaceFault } from "../parts/replacing.ts";
import {
  compileReplacements,
  toValues,
  replacementFields,
  replacementList,
  replacementResults,
  replacementsOf,
} from "../parts/replacements.ts";
import type { ReplacementTemplate } from "../parts/replacements.ts";

export const requestBodyFindReplace = defineAction({
  type: "request-body-find-replace",
  phases: ["on_http_request"],
  doc:
    "Replaces matches in the request's body. The server reads the whole body, up to 1 MiB, else 413. " +
    "A body that is compressed or not UTF-8 gets 500, unless `on_error` is `continue`.",
  config: {
    replacements: f.list(
      "Replacements in order, each applied to the previous result.",
      f.object("One replacement.", replacementFields),
      replacementList,
    ),
    on_error: unreadableField,
  },
  terminating: "may",
  results: { name: "request_body_find_replace", fields: replacementResults },
  compile({ replacements, on_error: onError }, scope) {
    const templates = compileReplacements(replacements, scope);
    return { run: (context) => replaceBody(templates, onError, context) };
  },
});

async function replaceBody(
  templates: readonly ReplacementTemplate[],
  onError: "halt" | "continue",
  context: PolicyContext,
): Promise<ActionOutcome> {
  const inSameWork = captureWork();
  const { exchange } = context;
  if (!exchange) return skipAction("there is no request");
  const hidden = explainHidden(exchange.request.headers);
  if (hidden !== undefined) return endUnreadable(onError, "request_replacement_failed", hidden);
  const list = replacementsOf(templates, context);
  if (list instanceof CelFailure) return breakWith(list, "request_replacement_failed");
  let body: Buffer;
  try {
    body = inSameWork(await exchange.body(maxBodyBytes));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return breakAction(error.reason, error.message);
  }
  if (!isUtf8(body)) return endUnreadable(onError, "request_replacement_failed", "the text is not UTF-8");
  const replaced = inSameWork(
    await replaceInBytes(body, list, { maxLength: maxBodyBytes, owner: context.place.accountId }),
  );
  if (replaced instanceof ReplaceFault) return breakWith(replaced, "request_replacement_failed");
  const { content, matches } = replaced;
  if (matches.length === 0) return skipAction("no match found", { replacements: [] });
  exchange.replaceBody(content);
  return makeDone("replaced the matches", { replacements: toValues(matches) });
}
