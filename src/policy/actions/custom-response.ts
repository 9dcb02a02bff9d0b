import { CelFailure } from "../../cel/values/cel-failure.ts";
import { f } from "../../schema/fields.ts";
import { breakWith, defineAction, endWith } from "../language/action.ts";
import { answerHeaders, compileHeaders, headerValuesOf } from "../language/header-fields.ts";

export const customResponse = defineAction({
  type: "custom-response",
  phases: ["on_http_request", "on_http_response"],
  doc: "Answers directly: for a request, without the upstream; for a response, instead of the upstream's response.",
  config: {
    status_code: f.uint32("Status.", { min: 200, max: 599, default: 200 }),
    body: f.string("Body; can contain `${…}`.", { maxBytes: 32_768, alias: "content" }),
    headers: answerHeaders,
  },
  terminating: "always",
  tells: () => "the client",
  compile({ status_code: status, body, headers }, scope) {
    const text = scope.template(body, "body");
    const templates = compileHeaders(headers, scope);
    // Uses only the policy's own text: a visitor must not choose the type that browsers assume.
    const type = typeOf(text.startsWith);
    const hasType = templates.some(([name]) => name === "content-type");
    return {
      run(context) {
        const content = text.text(context);
        if (content instanceof CelFailure) return breakWith(content);
        const fields = headerValuesOf(templates, context);
        if (fields instanceof CelFailure) return breakWith(fields);
        if (!hasType && content !== "") fields["content-type"] = type;
        fields["x-content-type-options"] = "nosniff";
        return endWith(`answered ${status}`, { by: "answer", answer: { status, headers: fields, body: content } });
      },
    };
  },
});

/** Returns HTML for text that begins as HTML does, otherwise plain text. */
function typeOf(content: string): string {
  const isHtml =
    /^\s*<(?:!doctype html|!--|html|head|body|script|style|title|div|p|h[1-6]|table|a|br|b|iframe|font)[\s>]/i;
  return isHtml.test(content) ? "text/html; charset=utf-8" : "text/plain; charset=utf-8";
}
