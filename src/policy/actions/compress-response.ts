import { types } from "../../cel/checking/types.ts";
import { f } from "../../schema/fields.ts";
import { compressResponse as compress } from "../../traffic/parts/compress-response.ts";
import { defineAction, done, skippedAction } from "../language/action.ts";

const all = ["gzip", "deflate", "br"] as const;

export const compressResponse = defineAction({
  type: "compress-response",
  phases: ["on_http_response"],
  doc: "Compresses the response's body as the client's Accept-Encoding asks. Left alone is what the module `compression` leaves alone.",
  config: {
    algorithms: f.list(
      "Algorithms to choose from; empty: all. `compress` is accepted and never chosen.",
      f.oneOf("One of them.", ["gzip", "deflate", "br", "compress"]),
      { maxItems: 4, unique: true },
    ),
  },
  results: { name: "compress", fields: { already_compressed: types.bool, negotiated_algorithm: types.string } },
  compile({ algorithms }) {
    const wanted = algorithms.length === 0 ? all : all.filter((one) => algorithms.includes(one));
    return {
      run({ exchange, response }) {
        if (!exchange) return skippedAction("there is no response");
        const { reason, coding, isEncoded } = compress(exchange.request, response, exchange.steps, wanted);
        const result = { already_compressed: isEncoded, negotiated_algorithm: coding ?? "" };
        return coding === undefined ? skippedAction(reason, result) : done(reason, result);
      },
    };
  },
});
