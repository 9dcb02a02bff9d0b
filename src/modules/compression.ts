import { compressResponse } from "../traffic/parts/compress-response.ts";
import { defineModule } from "../traffic/module.ts";
import { changed, skipped } from "../traffic/step.ts";
import type { Step } from "../traffic/step.ts";

export const compression = defineModule({
  name: "compression",
  schemaName: "EndpointCompression",
  on: ["https_route"],
  doc: "Compresses responses with gzip, deflate, br or zstd, according to the client's Accept-Encoding. Unchanged are bodies that are already encoded or do not shrink, partial bodies, responses with `Cache-Control: no-transform`, and answers to input in requests of visitors whom the edge has logged in.",
  acts: { response: ["change the response"] },
  fields: {},
  compile: () => ({
    changesBodiesOnly: true,
    response: ({ request, response, steps }) => stepOf(compressResponse(request, response, steps).reason),
  }),
});

/** One step for each thing that is said. */
const known = new Map<string, Step>();

function stepOf(reason: string): Step {
  let step = known.get(reason);
  if (!step) {
    step = reason.startsWith("compressed") ? changed("compression", reason) : skipped("compression", reason);
    known.set(reason, step);
  }
  return step;
}
