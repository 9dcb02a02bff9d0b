import { compileHeaderEdit, headerEditFields } from "../traffic/parts/header-edit.ts";
import { defineModule } from "../traffic/module.ts";
import { describeEdit } from "./request-headers.ts";
import { changeStep } from "../traffic/step.ts";

/** Fields whose repetition would be contradictory (RFC 9110 §8, §10.2). */
const single = new Set(["content-type", "etag", "last-modified", "location", "server", "strict-transport-security"]);

export const responseHeaders = defineModule({
  name: "response_headers",
  schemaName: "EndpointResponseHeaders",
  on: ["https_route"],
  doc: "Removes, then adds header fields of the response, just before the response goes to the client.",
  acts: { response: ["change the response"] },
  fields: headerEditFields(true),
  compile(config) {
    const edit = compileHeaderEdit(config, single);
    const step = changeStep("response_headers", describeEdit(config));
    return {
      response(exchange) {
        if (exchange.response) edit(exchange, exchange.response.headers);
        return step;
      },
    };
  },
});
