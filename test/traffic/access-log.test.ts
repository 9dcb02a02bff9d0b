/** Access log lines that an edge makes of real requests. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { accessFields, accessFormats } from "../../src/lib/access-fields.ts";
import type { AccessFormat } from "../../src/lib/access-fields.ts";
import { host, routeId, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { eventually } from "../support/eventually.ts";
import { protocols } from "../support/http-client.ts";
import { nodeCount } from "../support/node-count.ts";

/** Two edges of one test would both make lines for their own requests. */
describe("the access log", { timeout: 60_000, skip: nodeCount > 1 && "one edge makes all lines" }, () => {
  const edges = new Map<AccessFormat, EdgeWithAgent>();
  const texts: Record<AccessFormat, string> = { json: "", logfmt: "", combined: "" };
  before(async () => {
    for (const format of accessFormats) {
      const fixed = format === "combined";
      const edge = await startEdgeWithAgent({
        accessLogFormat: format,
        accessLogFields: fixed ? [] : accessFields,
        accessLogHeaders: fixed ? [] : ["x-team"],
        accessLines: (batch) => void (texts[format] += batch.text),
      });
      edge.put("ip_policy", "ipp_none", {});
      edges.set(format, edge);
    }
  });
  after(() => Promise.all([...edges.values()].map((edge) => edge.stop())));
  const edgeOf = (format: AccessFormat): EdgeWithAgent => edges.get(format) as EdgeWithAgent;
  /** The first line with this text, without its line break. */
  const lineWith = async (format: AccessFormat, text: string): Promise<string> => {
    const lines = await eventually(
      () => texts[format].split("\n"),
      (found) => found.some((line) => line.includes(text)),
    );
    return lines.find((line) => line.includes(text)) as string;
  };

  for (const protocol of protocols) {
    const version = protocol === "h2" ? "2" : "1.1";

    it(`the access log has a line for a request over ${protocol} that was served`, async () => {
      const asked = await edgeOf("json").ask(protocol, {
        method: "POST",
        path: "/a/../b?token=in-the-query",
        body: "four",
        headers: {
          "user-agent": "tester/2",
          "x-team": "blue",
          authorization: "Bearer in-the-field",
          cookie: "session=in-the-cookie",
        },
      });
      assert.equal(asked.status, 200);
      const line = await lineWith("json", asked.id);
      assert.doesNotMatch(line, /in-the-(?:field|cookie)/);
      const { time, duration_ms, upstream_ms, source_port, tls_version, tls_cipher, tunnel, ...rest } = JSON.parse(
        line,
      ) as Record<string, unknown>;
      assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      for (const number of [duration_ms, upstream_ms, source_port]) assert.ok(Number(number) > 0);
      assert.match([tls_version, tls_cipher, tunnel].join(" "), /^TLSv1\.3 TLS_\w+ tn_\w+$/);
      assert.deepEqual(rest, {
        id: asked.id,
        source: "127.0.0.1",
        method: "POST",
        scheme: "https",
        host,
        path: "/b",
        http_version: version,
        status: 200,
        outcome: "forwarded",
        bytes_in: 4,
        bytes_out: 6,
        user_agent: "tester/2",
        site: "edghts_1",
        route: routeId,
        query: "?token=in-the-query",
        account: "ac_1",
        server_name: host,
        websocket: false,
        cut_short: false,
        header_x_team: "blue",
      });
    });

    it(`the access log has a line for a request over ${protocol} that a module denied`, async () => {
      for (const format of accessFormats) {
        const edge = edgeOf(format);
        edge.route({ ip_restriction: { enabled: true, ip_policy_ids: ["ipp_none"] } });
        const path = `/denied-${protocol}`;
        const asked = await edge.ask(protocol, { path });
        edge.route({});
        assert.equal(asked.status, 403);
        const line = await lineWith(format, path);
        const shown: Record<AccessFormat, RegExp> = {
          json: /"status":403,"outcome":"denied","error_code":"ERR_\w+","decided_by":"ip_restriction"/,
          logfmt: / status=403 outcome=denied error_code=ERR_\w+ decided_by=ip_restriction /,
          combined: new RegExp(
            `^127\\.0\\.0\\.1 - - \\[\\d\\d/\\w{3}/\\d{4}:\\d\\d:\\d\\d:\\d\\d \\+0000\\] "GET ${path} HTTP/${version === "2" ? "2.0" : version}" 403 \\d+ "-" "[^"]*"$`,
          ),
        };
        assert.match(line, shown[format]);
      }
    });
  }

  for (const format of accessFormats) {
    it(`the access log as ${format} keeps a hostile request on one line of visible ASCII`, async () => {
      const agent = 'a" 200 0 "-" "\\u001b \u00e9\u0085\t end-of-agent';
      const path = `/hostile-${format}/"%0a%22`;
      await edgeOf(format).ask("h1", { path, headers: { "user-agent": agent, "x-team": "=\u009b" } });
      const line = await lineWith(format, `/hostile-${format}`);
      assert.match(line, /^[\x20-\x7e]+$/);
      assert.ok(line.includes("end-of-agent"), line);
      if (format === "json") assert.equal((JSON.parse(line) as Record<string, unknown>)["user_agent"], agent);
      if (format === "combined") assert.equal(line.match(/"/g)?.length, 6);
    });
  }

  it("the access log has no line for a connection without a request", async () => {
    const edge = edgeOf("json");
    const before = texts.json;
    const refused = edge.connect("h1", { host: "elsewhere.example.org" });
    await refused.then(
      (socket) => void socket.destroy(),
      () => undefined,
    );
    const marker = await edge.ask("h1", { path: "/after-the-connection" });
    await lineWith("json", marker.id);
    assert.equal(texts.json.slice(before.length).trimEnd().split("\n").length, 1);
  });
});
