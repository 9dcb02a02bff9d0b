/** Commands print all of strangers' text, and nothing that the terminal would obey. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { runSharedCommand } from "../support/shared-command.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

/** A title, a colour, an 8-bit command, a separate line, a line over the previous one, and reversed writing. */
const hostile = "\u001b]0;owned\u0007\u001b[31mred\u009b2J\nforged line\r\u202eturned";
const shown = String.raw`\u001b]0;owned\u0007\u001b[31mred\u009b2J\nforged line\r\u202eturned`;

const explanation = {
  outcome: "denied",
  status_code: 403,
  code: null,
  edge: { id: "edghts_1", revision: 1 },
  route: null,
  near_routes: [{ id: "edghtsrt_1", match_type: "path_prefix", match: hostile, reason: hostile }],
  steps: [
    {
      by: "traffic_policy",
      outcome: "denied",
      reason: hostile,
      decided_by: { kind: hostile, id: hostile, revision: 1 },
      rule: {
        matched: 1,
        failed: 0,
        values: [{ expression: hostile, outcome: "true", parts: [{ text: hostile, value: hostile }] }],
      },
    },
  ],
  tunnel: null,
  address: null,
};
const object = {
  id: hostile,
  uri: "x",
  description: hostile,
  [hostile]: { enabled: true, [hostile]: hostile },
  list: [hostile, { a: hostile }],
};

describe("G13: strangers' text at the terminal", { timeout: 60_000 }, () => {
  let api: HttpService;
  before(async () => {
    api = await startHttpService((request, response) => {
      const { method, url = "" } = request;
      request.resume();
      response.setHeader("content-type", "application/json");
      if (url.includes("refused")) response.statusCode = 404;
      response.end(
        JSON.stringify(
          url.includes("refused")
            ? {
                error_code: errorCode("not_found"),
                status_code: 404,
                msg: hostile,
                details: { operation_id: "op_1", more: hostile },
              }
            : url.endsWith("/explain")
              ? explanation
              : url.startsWith("/edges/https") && method === "GET" && !url.includes("edghts_1")
                ? {
                    https_edges: [{ id: "edghts_1", hostports: ["a.example.com:443"], description: hostile }],
                    uri: "",
                    next_page_uri: null,
                  }
                : object,
        ),
      );
    });
  });
  after(() => api.stop());

  for (const [what, args] of [
    ["an explanation", ["explain", "GET", "https://a.example.com/"]],
    ["an object", ["api", "edges/https", "get", "edghts_1"]],
    ["an object as JSON", ["api", "edges/https", "get", "edghts_1", "--json"]],
    ["a list", ["api", "edges/https", "list"]],
    ["a list as JSON", ["api", "edges/https", "list", "--json"]],
    ["a refusal", ["api", "edges/https", "get", "refused"]],
    ["a refusal as JSON", ["api", "edges/https", "get", "refused", "--json"]],
  ] as const) {
    for (const colour of ["0", "1"]) {
      it(`strangers' text is printed and not obeyed in ${what}, with FORCE_COLOR=${colour}`, async () => {
        const { port } = api;
        const env = { POSTERN_API_URL: `http://127.0.0.1:${port}`, POSTERN_API_KEY: "key", FORCE_COLOR: colour };
        const { stdout, stderr } = await runSharedCommand(args, { env });
        const printed = stdout + stderr;
        // The colours that are left are ours: they are closed on the same line.
        // oxlint-disable-next-line no-control-regex
        const plain = printed.replaceAll(/\u001b\[(?:1|2|3[1-6]|22|39)m/g, "");
        // oxlint-disable-next-line no-control-regex
        assert.doesNotMatch(plain, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
        assert.doesNotMatch(plain, /^(?!\s+\| ).*(?<!\\n)forged line/m);
        // An error as JSON contains the sentence that is printed as text.
        assert.ok(plain.replaceAll("\\\\", "\\").includes(shown.slice(0, 30)), plain);
        assert.ok(!printed.includes("\u001b[31mred"));
      });
    }
  }
});
