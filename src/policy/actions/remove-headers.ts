import { listOf, types } from "../../cel/checking/cel-types.ts";
import { f } from "../../schema/fields.ts";
import { defineAction, makeDone, skipAction } from "../language/action.ts";
import { headerNameField } from "../language/header-fields.ts";
import { headersOf } from "../language/message.ts";

export const removeHeaders = defineAction({
  type: "remove-headers",
  phases: ["on_http_request", "on_http_response"],
  doc: "Removes all values of header fields, without regard to case.",
  config: { headers: f.list("Names to remove.", headerNameField, { required: true, minItems: 1, maxItems: 10 }) },
  results: { name: "remove_headers", fields: { headers_removed: listOf(types.string) } },
  compile({ headers }) {
    return {
      run(context) {
        const fields = headersOf(context);
        if (!fields) return skipAction("there is no response");
        const present = headers.filter((name) => fields.has(name));
        for (const name of present) fields.delete(name);
        const result = { headers_removed: present };
        return present.length === 0
          ? skipAction("the message has none of them", result)
          : makeDone(`removed ${present.join(", ")}`, result);
      },
    };
  },
});
