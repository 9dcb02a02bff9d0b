import { types } from "../../cel/checking/cel-types.ts";
import { f } from "../../schema/fields.ts";
import { compressResponse as compress } from "../../traffic/parts/response-compression.ts";
import { defineAction, makeDone, skipAction } from "../language/action.ts";

const all = ["gzip", "deflate", "br"] as const;

export const compressResponse = defineAction({
  type: "compress-response",
  phases: ["on_http_response"],
  doc: "Compresses the response's body according to the client's Accept-Encoding. The exceptions are the same as for the module `compression`.",
  config: {
    algorithms: f.list(
      "Allowed algorithms; empty: all. `compress` is accepted and never used.",
      f.oneOf("One algorithm.", ["gzip", "deflate", "br", "compress"]),
      { maxItems: 4, unique: true },
    ),
  },
  results: { name: "compress", fields: { already_compressed: types.bool, negotiated_algorithm: types.string } },
  compile({ algorithms }) {
    const wanted = algorithms.length === 0 ? all : all.filter((one) => algorithms.includes(one));
    return {
      run({ exchange, response }) {
        if (!exchange) return skipAction("there is no response");
        const { reason, coding, isEncoded } = compress(exchange.request, response, exchange.steps, wanted);
        const result = { already_compressed: isEncoded, negotiated_algorithm: coding ?? "" };
        return coding === undefined ? skipAction(reason, result) : makeDone(reason, result);
      },
    };
  },
});
