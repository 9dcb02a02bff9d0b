import { types } from "../../cel/checking/types.ts";
import { Failure } from "../../cel/values/failure.ts";
import { f } from "../../schema/fields.ts";
import { internalHostOf } from "../language/internal-url.ts";
import { brokenAction, defineAction, endedBy, failedAction } from "../language/action.ts";

export const forwardInternal = defineAction({
  type: "forward-internal",
  phases: ["on_http_request"],
  doc: "Sends the request to an internal endpoint of the account, whose own modules and policy then decide.",
  config: {
    url: f.string("`https://name.internal`; may hold `${…}`.", { required: true, maxBytes: 2048 }),
    on_error: f.oneOf("What happens when the endpoint is not online.", ["halt", "continue"], { default: "halt" }),
    binding: f.string("Ignored; an older field.", { maxBytes: 64 }),
  },
  // With `continue` it is not certain to end the phase.
  terminating: "may",
  results: { name: "forward_internal", fields: { url: types.string } },
  compile({ url, on_error }, scope) {
    const template = scope.template(url, "url");
    if (template.constant !== undefined && internalHostOf(template.constant) === undefined) {
      scope.wrong("url", "must be the URL of an internal endpoint, such as https://api.internal", "policy_url_invalid");
    }
    return {
      isFinal: on_error === "halt",
      run(context) {
        const text = template.text(context);
        if (text instanceof Failure) return brokenAction("policy_interpolation_failed", text.message);
        const { place } = context;
        const host = internalHostOf(text);
        const isThere = host !== undefined && place.services.internalEndpoint(place.accountId, host);
        if (isThere) return endedBy(`forwarded to ${host}`, { by: "forward", url: host });
        const reason = host === undefined ? "the URL is no internal one" : "the endpoint is not online";
        if (on_error === "continue") return failedAction("unknown_host", reason, { url: text });
        return brokenAction("unknown_host", reason);
      },
    };
  },
});
