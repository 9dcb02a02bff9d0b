import { captureWork } from "../../lib/heartbeat.ts";
import { isUtf8 } from "node:buffer";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import { f } from "../../schema/fields.ts";
import { breakWith, defineAction, makeDone, skipAction } from "../language/action.ts";
import { replaceInMessage } from "../parts/event-replace.ts";
import { endUnreadable, unreadableField } from "../parts/readable-body.ts";
import { ReplaceFault } from "../parts/replacing.ts";
import {
  compileReplacements,
  toValues,
  replacementFields,
  replacementList,
  replacementResults,
  replacementsOf,
} from "../parts/replacements.ts";

export const sseFindReplace = defineAction({
  type: "sse-find-replace",
  phases: ["on_event_stream_message"],
  doc:
    "Replaces matches in a field of each message of an event stream. A message that is longer than 64 KiB or not " +
    "UTF-8 ends the stream, and a compressed stream gets 500, unless `on_error` is `continue`.",
  config: {
    replacements: f.list(
      "Replacements in order, each applied to the previous result.",
      f.object("One replacement.", {
        field: f.oneOf("Field of the message.", ["data", "retry", "event", "id"], { default: "data" }),
        ...replacementFields,
      }),
      replacementList,
    ),
    on_error: unreadableField,
  },
  results: { name: "sse_find_replace", fields: replacementResults },
  compile({ replacements, on_error: onError }, scope) {
    const templates = compileReplacements(replacements, scope);
    const names = replacements.map(({ field }) => field);
    return {
      haltsUnread: onError === "halt",
      async run(context) {
        const inSameWork = captureWork();
        const { message } = context;
        if (!message) return skipAction("there is no message");
        const list = replacementsOf(templates, context);
        // The stream has already begun, so a refusal cuts it off.
        if (list instanceof CelFailure) return breakWith(list, "message_replacement_failed");
        if (!isUtf8(message)) return endUnreadable(onError, "message_replacement_failed", "the message is not UTF-8");
        const fields = list.map((one, index) => ({ ...one, field: names[index] ?? "data" }));
        const replaced = inSameWork(await replaceInMessage(message, fields, context.place.accountId));
        if (replaced instanceof ReplaceFault) return breakWith(replaced, "message_replacement_failed");
        const { content, matches } = replaced;
        if (matches.length === 0) return skipAction("no match found", { replacements: [] });
        context.message = content;
        return makeDone("replaced the matches", { replacements: toValues(matches) });
      },
    };
  },
});
