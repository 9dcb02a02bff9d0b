import { f } from "../schema/fields.ts";
import { headerName } from "../schema/header-name.ts";

/** Maximum of `hours`: 30 days. */
const maxHours = 720;

/** Settings of capture, on everything that has traffic. The nearest ones apply as a whole. */
export const captureField = f.object(
  "Whether the server captures requests here, see the capture guide. Null: as the edge, then the account, then the server says.",
  {
    enabled: f.boolean("Whether requests are captured.", { default: true }),
    sample: f.number(
      "Share of forwarded and answered requests to capture, 0 to 1. Denied and failed requests are always captured, unless it is 0.",
      { min: 0, max: 1, default: 1 },
    ),
    hours: f.uint32("Hours to keep captured requests.", { min: 1, max: maxHours, default: 24 }),
    redact_headers: f.list(
      "Names of further header fields whose values are replaced by keyed hashes. Credentials and cookies always are.",
      f.string("Name of a header field.", { format: headerName }),
      { maxItems: 100, unique: true },
    ),
    redact_query: f.list(
      "Names of query parameters whose values are replaced by keyed hashes.",
      f.string("Name of a query parameter.", { minBytes: 1 }),
      { maxItems: 100, unique: true },
    ),
    body_bytes: f.uint32("Bytes of request bodies to keep, from their start. Default: none.", { max: 65_536 }),
  },
  { nullable: true, schemaName: "Capture" },
);
