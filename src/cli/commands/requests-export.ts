import { apiFailure, apiSettings, openStream } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { conditionsOf, requestFilter } from "../requests/request-filter.ts";
import { exitCodes, Failure } from "../process/exit.ts";
import { oneOf } from "../../settings/kinds/text.ts";
import { flagOnly, one } from "../../settings/setting.ts";

export const requestsExport = defineCommand({
  name: "requests export",
  doc: "Write captured requests to the standard output, newest first, with header fields if the key may read them.",
  operands: "",
  least: 0,
  most: 0,
  settings: {
    ...apiSettings,
    ...requestFilter,
    format: flagOnly(
      one("`jsonl` for one request per line, `har` for browsers.", oneOf(["jsonl", "har"]), { default: "jsonl" }),
    ),
  },
  examples: [
    "postern requests export --since 1h > requests.jsonl",
    "postern requests export --format har > requests.har",
  ],
  async run({ format, ...values }) {
    const query = new URLSearchParams({ ...conditionsOf(values), format });
    let tail = "";
    try {
      for await (const part of await openStream(values, `/requests/export?${query.toString()}`)) {
        tail = (tail + part.toString("latin1")).slice(-maxTail);
        if (!process.stdout.write(part)) await new Promise((resolve) => process.stdout.once("drain", resolve));
      }
    } catch (error) {
      throw apiFailure(error);
    }
    if (cutShort.test(tail))
      throw new Failure("unexpected", "the export lacks captured requests that could not be read");
    return exitCodes.fine;
  },
});

/** How an export ends that lacks requests, see `GET /requests/export`. */
const cutShort = /(?:^|\n)\{"incomplete":\{[^\n]*\}\}\n$|"comment":"incomplete: [^"]*"\}\}$/;
const maxTail = 500;
