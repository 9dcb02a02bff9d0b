import { compressResponse } from "../traffic/parts/response-compression.ts";
import { defineModule } from "../traffic/module.ts";
import { changeStep, skipStep } from "../traffic/step.ts";
import type { Step } from "../traffic/step.ts";

export const compression = defineModule({
  name: "compression",
  schemaName: "EndpointCompression",
  on: ["https_route"],
  doc: "Compresses responses with gzip, deflate, br or zstd, according to the client's Accept-Encoding. Unchanged are encoded or partial bodies, bodies that do not shrink, and responses with `Cache-Control: no-transform`. Responses that repeat input of a logged-in visitor stay unchanged too.",
  acts: { response: ["change the response"] },
  fields: {},
  compile: () => ({
    changesBodiesOnly: true,
    response: ({ request, response, steps }) => stepOf(compressResponse(request, response, steps).reason),
  }),
});

/** One shared step for each message. */
const known = new Map<string, Step>();

function stepOf(reason: string): Step {
  let step = known.get(reason);
  if (!step) {
    step = reason.startsWith("compressed") ? changeStep("compression", reason) : skipStep("compression", reason);
    known.set(reason, step);
  }
  return step;
}
