import { Failure } from "../../cel/values/failure.ts";
import { f } from "../../schema/fields.ts";
import { brokenAction, defineAction, done, failedAction, skippedAction } from "../language/action.ts";
import { maxBodyBytes } from "../parts/find-replace.ts";
import { makeReplacingStage } from "../parts/replacing-stage.ts";
import {
  compileReplacements,
  replacementFields,
  replacementList,
  replacementResults,
  replacementsOf,
} from "../parts/replacements.ts";

export const responseBodyFindReplace = defineAction({
  type: "response-body-find-replace",
  phases: ["on_http_response"],
  doc:
    "Replaces what is found in the response's body, which is read whole. One that is longer than 1 MiB, " +
    "compressed, a part, or no UTF-8, stays as it is, and so does an event stream.",
  config: {
    replacements: f.list(
      "In this order, each in the result of the one before.",
      f.object("One of them.", replacementFields),
      replacementList,
    ),
  },
  results: { name: "response_body_find_replace", fields: replacementResults },
  compile({ replacements }, scope) {
    const templates = compileReplacements(replacements, scope);
    return {
      run(context) {
        const { response } = context;
        if (!response) return skippedAction("there is no response");
        const { headers } = response;
        const coding = headers.get("content-encoding");
        if (coding !== undefined && coding !== "identity") {
          return failedAction("response_replacement_failed", "the body is compressed");
        }
        // A match may lie across the ends of the part.
        if (response.status === 206) return failedAction("response_replacement_failed", "the body is a part of one");
        const length = Number(headers.get("content-length") ?? 0);
        if (length > maxBodyBytes) return failedAction("response_replacement_failed", "the body is longer than 1 MiB");
        // It has no end to wait for.
        if (/^text\/event-stream\b/i.test(headers.get("content-type") ?? "")) {
          return failedAction("response_replacement_failed", "the body is an event stream");
        }
        const list = replacementsOf(templates, context);
        if (list instanceof Failure) return brokenAction("response_replacement_failed", list.message);
        response.transform(() => makeReplacingStage(list));
        for (const name of bodyFields) headers.delete(name);
        const strong = headers.get("etag");
        if (strong !== undefined && !strong.startsWith("W/")) headers.set("etag", `W/${strong}`);
        return done("replaces what is found in the body");
      },
    };
  },
});

/** They are about the body as it was, to the byte. */
const bodyFields = ["accept-ranges", "content-md5", "digest", "content-digest", "repr-digest"] as const;
