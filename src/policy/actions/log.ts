import { mapOf, types } from "../../cel/checking/cel-types.ts";
import type { Value } from "../../cel/values/cel-values.ts";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import { f } from "../../schema/fields.ts";
import { breakWith, defineAction, makeDone } from "../language/action.ts";
import { compileStructure } from "../language/structure.ts";
import { toJsonData } from "../language/text-of.ts";

const maxMembers = 50;

export const log = defineAction({
  type: "log",
  phases: ["on_tcp_connect", "on_http_request", "on_http_response"],
  doc: "Adds names and values to the event of the request or connection. A value that fails becomes an empty text. A value that exceeds a limit denies the request.",
  config: {
    metadata: f.map("Names and values of any type, with `${…}` in texts.", f.string("A value.", { maxBytes: 4096 }), {
      required: true,
      maxItems: maxMembers,
    }),
  },
  raw: ["metadata"],
  results: { name: "log", fields: { metadata: mapOf(types.string, types.dyn) } },
  tells: () => "events of traffic",
  compile({ metadata }, scope) {
    const given: unknown = metadata;
    const entries = typeof given === "object" && given !== null && !Array.isArray(given) ? Object.entries(given) : [];
    if (typeof given !== "object" || Array.isArray(given)) scope.wrong("metadata", "must be a map");
    if (entries.length > maxMembers) scope.wrong("metadata", `must have at most ${maxMembers}`, "policy_many");
    const members = entries.map(
      ([name, value]) => [name, compileStructure(value, `metadata.${name.slice(0, 64)}`, scope)] as const,
    );
    const reason = `noted ${members.map(([name]) => name.slice(0, 64)).join(", ")}`;
    return {
      run(context) {
        const noted: (readonly [string, unknown])[] = [];
        for (const [name, value] of members) {
          const result = value(context);
          const plain = result instanceof CelFailure ? result : toJsonData(result, context);
          if (plain instanceof CelFailure && plain.isFinal) return breakWith(plain);
          noted.push([name, plain instanceof CelFailure ? "" : plain]);
        }
        const entry = Object.fromEntries(noted);
        context.log(entry);
        return makeDone(reason, { metadata: entry as Readonly<Record<string, Value>> });
      },
    };
  },
});
