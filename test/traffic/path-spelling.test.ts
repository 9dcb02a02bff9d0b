/** Paths reach the service in the client's own spelling, and no spelling reaches the path of another route. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { canonicalPath } from "../../src/lib/canonical-path.ts";
import { connectAgent } from "../support/agents.ts";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import { ipPolicy } from "../support/objects.ts";
import { seededRandom } from "../support/random.ts";

/** Spellings that signatures are made over. */
const signed = [
  "/bucket/a%2Bb+c%3A%7e%28c%29/%C3%A9?X-Signature=%2F%2b|&x=%zz",
  "/p|q/{id}/<a>^`?q",
  '/a"b',
  "/a//b;v=1,2/%3B%2C/c%2e.txt",
  "/.well-known/%40x",
  "//double//slash",
];

let fixture: EdgeWithAgent;
before(async () => {
  fixture = await startEdgeWithAgent();
  for (const { kind, id, doc } of ipPolicy("ipp_staff", { "127.0.0.9/32": "allow" })) fixture.put(kind, id, doc);
});
after(() => fixture.stop());

for (const protocol of protocols) {
  describe(`the spelling of a path over ${protocol}`, () => {
    const ask = async (path: string, source = "127.0.0.1"): Promise<readonly [number, string | undefined]> => {
      const reached = fixture.received.length;
      const { status } = await fixture.ask(protocol, { path, source });
      return [status, fixture.received[reached]?.url];
    };
    const closed = (id: string, match: string): void =>
      fixture.put("https_edge_route", id, {
        edge_id: "edghts_1",
        match_type: "path_prefix",
        match,
        backend: { enabled: true, backend_id: "bkdtg_1" },
        ip_restriction: { enabled: true, ip_policy_ids: ["ipp_staff"] },
      });

    it(`the spelling of a path over ${protocol} reaches the service byte for byte, so that signatures verify`, async () => {
      fixture.route({});
      for (const target of signed) assert.deepEqual(await ask(target), [200, target]);
      closed("edghtsrt_c", "/closed");
      for (const target of signed) assert.deepEqual(await ask(target), [200, target]);
      fixture.edge.remove("https_edge_route", "edghtsrt_c");
    });

    it(`the spelling of a path over ${protocol} loses its dot segments, which services may not resolve`, async () => {
      fixture.route({});
      const resolved = [
        ["/admin/../%2Bx", "/%2Bx"],
        ["/a/./%7Eb/../%3a/..", "/a/"],
        ["/../../%28", "/%28"],
        ["/a//../%2c?/../x", "/a/%2c?/../x"],
      ] as const;
      for (const [sent, forwarded] of resolved) assert.deepEqual(await ask(sent), [200, forwarded]);
    });

    it(`R1: the spelling of a path over ${protocol} never leads a service to a closed path, however it reads dots, slashes and escapes`, async () => {
      const random = seededRandom(7);
      fixture.route({});
      closed("edghtsrt_c", "/a");
      const pieces = [
        "/",
        "/",
        "a",
        "%61",
        "b",
        "%62",
        ".",
        "..",
        "%2e",
        ";",
        "%3B",
        "%2F",
        "%2f",
        "%5C",
        "%25",
        "%FF",
      ];
      let passed = 0;
      for (let round = 0; round < 400; round += 1) {
        const path = `/${Array.from({ length: 1 + random.below(7) }, () => random.pick(pieces)).join("")}`;
        const [status, forwarded] = await ask(path);
        assert.ok([200, 400, 403].includes(status), `${path} ${status}`);
        if (forwarded === undefined) continue;
        passed += 1;
        // How a service could read the path: with and without dot segments resolved, before or after decoding.
        const decoded = Buffer.from(decodeURIComponent(forwarded)).toString();
        assert.equal(canonicalPath(forwarded), canonicalPath(path), path);
        assert.doesNotMatch(decoded, /^\/a(?:\/|$)/, path);
        assert.doesNotMatch(decoded, /\/\.{1,2}(?:[/;]|$)|\\/, path);
        assert.doesNotMatch(forwarded, /%2f|%5c|%00/i, path);
      }
      assert.ok(passed > 20, String(passed));
      fixture.edge.remove("https_edge_route", "edghtsrt_c");
    });

    it(`the spelling of a path over ${protocol} stays where a rule rewrites another part of the URL`, async () => {
      const rewriting = (from: string, to: string): void => {
        const actions = [{ type: "url-rewrite", config: { from, to } }];
        fixture.route({ traffic_policy: { enabled: true, value: JSON.stringify({ on_http_request: [{ actions }] }) } });
      };
      rewriting("/api/", "/v2/");
      assert.deepEqual(await ask("/api/a%2Bb%3A?x=%2b"), [200, "/v2/a%2Bb%3A?x=%2b"]);
      // A rule about a path applies to each of its spellings.
      for (const path of ["/admin/a%2Bb", "/%61dmin/a%2Bb", "/x/../admin/a%2Bb", "/admin/../admin/a%2Bb"]) {
        rewriting("/admin/", "/closed/");
        const [status, forwarded = ""] = await ask(path);
        assert.deepEqual([status, canonicalPath(forwarded)], [200, "/closed/a+b"], path);
        rewriting("/x/", "/y/");
        assert.deepEqual(await ask(path), [200, path.replace("/x/..", "").replace("/admin/..", "")], path);
      }
      rewriting("[?].*$", "?y=1");
      assert.deepEqual(await ask("/api/%7E+?x"), [200, "/api/%7E+?y=1"]);
    });

    it(`the spelling of a path over ${protocol} stays on the way to an internal endpoint`, async () => {
      const agent = await connectAgent(fixture.edge, fixture.token, fixture.servicePort);
      await agent.bind({ hostname: "spelling.internal" });
      const actions = [{ type: "forward-internal", config: { url: "https://spelling.internal" } }];
      fixture.route({ traffic_policy: { enabled: true, value: JSON.stringify({ on_http_request: [{ actions }] }) } });
      for (const target of signed) assert.deepEqual(await ask(target), [200, target]);
      assert.deepEqual(await ask("/a%2Fb/%FF"), [200, "/a%2Fb/%FF"]);
      agent.close();
    });
  });
}
