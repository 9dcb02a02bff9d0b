import { listOf, types } from "../../cel/checking/cel-types.ts";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import { f } from "../../schema/fields.ts";
import { breakWith, defineAction, endWith, skipAction } from "../language/action.ts";
import { answerHeaders, compileHeaders, headerValuesOf } from "../language/header-fields.ts";
import { ReplaceFault } from "../parts/replacing.ts";
import { compileUrlChange, urlChangeFields } from "../parts/url-change.ts";

const statuses = [301, 302, 303, 307, 308];

export const redirect = defineAction({
  type: "redirect",
  phases: ["on_http_request"],
  readsPath: true,
  doc: "Redirects the client to another URL: `to` replaces the matches of `from` in the request's URL. Does nothing if the URL does not change.",
  config: {
    ...urlChangeFields,
    status_code: f.uint32("Status.", { default: 302 }),
    headers: answerHeaders,
  },
  rules: [
    ({ status_code: given }) =>
      statuses.includes(given)
        ? undefined
        : {
            path: "status_code",
            message: `must be one of ${statuses.join(", ")}, is ${given}`,
            reason: "policy_value_refused",
          },
  ],
  terminating: "may",
  results: { name: "redirect", fields: { matches: listOf(types.string), url: types.string } },
  tells: () => "the client",
  compile({ from, to, status_code: status, headers }, scope) {
    const change = compileUrlChange(from, to, scope);
    const templates = compileHeaders(headers, scope);
    return {
      isFinal: true,
      run(context) {
        const changed = change(context);
        if (changed instanceof ReplaceFault) return breakWith(changed, "policy_action_failed");
        if (changed instanceof CelFailure) return breakWith(changed);
        if (!changed) return skipAction("the URL does not change", { matches: [], url: "" });
        const fields = headerValuesOf(templates, context);
        if (fields instanceof CelFailure) return breakWith(fields);
        const { url, matches } = changed;
        const answer = { status, headers: { ...fields, location: url }, body: "" };
        return endWith(`redirected with ${status}`, { by: "answer", answer }, { matches, url });
      },
    };
  },
});
