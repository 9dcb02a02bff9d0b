import { captureWork } from "../../lib/heartbeat.ts";
import { isUtf8 } from "node:buffer";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import { Refusal } from "../../lib/errors.ts";
import { f } from "../../schema/fields.ts";
import type { ResponseHead } from "../../traffic/exchange.ts";
import { breakAction, breakWith, defineAction, makeDone, skipAction } from "../language/action.ts";
import type { ActionOutcome } from "../language/action.ts";
import { maxBodyBytes, replaceInBytes } from "../parts/find-replace.ts";
import { hasNoText, explainHidden, endUnreadable, unreadableField } from "../parts/readable-body.ts";
import { ReplaceFault } from "../parts/replacing.ts";
import type { TextReplacement } from "../parts/replacing.ts";
import {
  compileReplacements,
  toValues,
  replacementFields,
  replacementList,
  replacementResults,
  replacementsOf,
} from "../parts/replacements.ts";

export const responseBodyFindReplace = defineAction({
  type: "response-body-find-replace",
  phases: ["on_http_response"],
  doc:
    "Replaces matches in the response's body. The server asks the service for a whole body without compression. " +
    "A body that is longer than 1 MiB, compressed, partial, an event stream or not UTF-8 gets 500, unless `on_error` is " +
    "`continue`. Images, audio, video and fonts pass unchanged.",
  config: {
    replacements: f.list(
      "Replacements in order, each applied to the previous result.",
      f.object("One replacement.", replacementFields),
      replacementList,
    ),
    on_error: unreadableField,
  },
  results: { name: "response_body_find_replace", fields: replacementResults },
  compile({ replacements, on_error: onError }, scope) {
    const templates = compileReplacements(replacements, scope);
    return {
      readsResponseBody: true,
      run(context) {
        const { response, exchange } = context;
        if (!response || !exchange) return skipAction("there is no response");
        if (hasNoText(response.headers)) return skipAction("the body has no text");
        if (exchange.request.method === "HEAD") {
          // The length of the changed body is unknown.
          response.headers.delete("content-length");
          return skipAction("the response has no body");
        }
        if (response.status === 304) return skipAction("the response has no body");
        const why = explainUntouchable(response);
        if (why !== undefined) return endUnreadable(onError, reason, why);
        const list = replacementsOf(templates, context);
        if (list instanceof CelFailure) return breakWith(list, reason);
        return replaceBody(response, list, onError, context.place.accountId);
      },
    };
  },
});

const reason = "response_replacement_failed";

/** Returns the reason why the body cannot be searched. */
function explainUntouchable({ status, headers }: ResponseHead): string | undefined {
  const hidden = explainHidden(headers);
  if (hidden !== undefined) return hidden;
  // A match may cross the boundaries of the part.
  if (status === 206 || status === 226) return "the body is a partial one";
  const length = Number(headers.get("content-length") ?? 0);
  if (length > maxBodyBytes) return tooLong;
  // The body never ends, so there is nothing to wait for.
  return /^text\/event-stream\b/i.test(headers.get("content-type") ?? "") ? "the body is an event stream" : undefined;
}

async function replaceBody(
  response: ResponseHead,
  list: readonly TextReplacement[],
  onError: "halt" | "continue",
  owner: string,
): Promise<ActionOutcome> {
  const inSameWork = captureWork();
  let body: Buffer;
  try {
    body = inSameWork(await response.body(maxBodyBytes));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return error.reason === "payload_too_large"
      ? endUnreadable(onError, reason, tooLong)
      : breakAction(error.reason, error.message);
  }
  if (!isUtf8(body)) return endUnreadable(onError, reason, "the text is not UTF-8");
  const replaced = inSameWork(await replaceInBytes(body, list, { maxLength: maxBodyBytes, owner }));
  if (replaced instanceof ReplaceFault) return breakWith(replaced, reason);
  const { content, matches } = replaced;
  if (matches.length === 0) return skipAction("no match found", { replacements: [] });
  response.replaceBody(content);
  const { headers } = response;
  for (const name of bodyFields) headers.delete(name);
  const strong = headers.get("etag");
  if (strong !== undefined && !strong.startsWith("W/")) headers.set("etag", `W/${strong}`);
  return makeDone("replaced the matches", { replacements: toValues(matches) });
}

const tooLong = "the body is longer than 1 MiB";
/** Fields that describe the exact bytes of the original body. */
const bodyFields = ["accept-ranges", "content-md5", "digest", "content-digest", "repr-digest"] as const;
