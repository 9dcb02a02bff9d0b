import { sentUpstream } from "../schema/concealment.ts";
import { compileHeaderEdit, headerEditFields } from "../traffic/parts/header-edit.ts";
import { defineModule } from "../traffic/module.ts";
import { changeStep } from "../traffic/step.ts";

/** Fields that a request may have only once (RFC 9110 §7.2, §10.1.5). */
const single = new Set(["host", "user-agent"]);

export const requestHeaders = defineModule({
  name: "request_headers",
  schemaName: "EndpointRequestHeaders",
  on: ["https_route"],
  doc: "Removes, then adds header fields of the request, just before the request goes upstream.",
  acts: { request: ["change the request"] },
  fields: headerEditFields(sentUpstream),
  rules: [
    ({ add, remove }) =>
      remove.includes("host") && !("host" in add)
        ? { path: "remove", message: 'must not contain "host" unless "add" sets it: every request needs one' }
        : undefined,
  ],
  compile(config) {
    const edit = compileHeaderEdit(config, single);
    const step = changeStep("request_headers", describeEdit(config));
    return {
      request(exchange) {
        edit(exchange, exchange.request.headers);
        return step;
      },
    };
  },
});

/** Returns one clause that describes an edit. */
export function describeEdit({ add, remove }: { readonly add: object; readonly remove: readonly string[] }): string {
  const added = Object.keys(add);
  return (
    [remove.length > 0 && `removed ${remove.join(", ")}`, added.length > 0 && `added ${added.join(", ")}`]
      .filter(Boolean)
      .join(", ") || "nothing to change"
  );
}
