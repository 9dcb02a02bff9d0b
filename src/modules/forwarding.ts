import { f } from "../schema/fields.ts";
import { defineModule } from "../traffic/module.ts";

const maxTimeoutSeconds = 24 * 60 * 60;

export const forwarding = defineModule({
  name: "forwarding",
  schemaName: "EndpointForwarding",
  on: ["https_route"],
  doc: "Sets limits on how requests are forwarded to the upstream.",
  acts: { request: ["set limits"] },
  fields: {
    response_timeout: f.uint32(
      "Maximum seconds to the first byte of the response, at most 86400; 0 uses the server's `--response-timeout`.",
      { max: maxTimeoutSeconds, default: 0 },
    ),
    encoded_slashes: f.boolean(
      "Accept paths with encoded slashes (`%2F`) or bytes that are not UTF-8, even if routes or rules distinguish paths. The server still rejects a path if decoding its slashes leads to another route.",
      { default: false },
    ),
  },
  compile: ({ response_timeout: seconds, encoded_slashes: allowsEncodedSlashes }) => ({
    allowsEncodedSlashes,
    ...(seconds > 0 && { responseTimeoutMs: seconds * 1000 }),
  }),
});
