import { CelFailure } from "../../cel/values/cel-failure.ts";
import { mapOf, types } from "../../cel/checking/cel-types.ts";
import { breakWith, defineAction, makeDone, skipAction } from "../language/action.ts";
import { compileHeaders, headersToAdd, headerValuesOf } from "../language/header-fields.ts";
import { headersOf } from "../language/message.ts";

/** Fields that a message has only once (RFC 9110 §7.2, §8.3). */
const replaced: ReadonlySet<string> = new Set(["host"]);

export const addHeaders = defineAction({
  type: "add-headers",
  phases: ["on_http_request", "on_http_response"],
  doc: "Adds header fields to the request or response. `host` replaces the current host.",
  config: { headers: headersToAdd },
  results: { name: "add_headers", fields: { headers_added: mapOf(types.string, types.string) } },
  tells: (phase) => (phase === "on_http_response" ? "the client" : undefined),
  compile({ headers }, scope) {
    const templates = compileHeaders(headers, scope);
    const reason = `added ${templates.map(([name]) => name).join(", ")}`;
    return {
      run(context) {
        const fields = headersOf(context);
        if (!fields) return skipAction("there is no response");
        const values = headerValuesOf(templates, context);
        if (values instanceof CelFailure) return breakWith(values);
        for (const name in values) {
          if (replaced.has(name)) fields.set(name, values[name] as string);
          else fields.append(name, values[name] as string);
        }
        return makeDone(reason, { headers_added: values });
      },
    };
  },
});
