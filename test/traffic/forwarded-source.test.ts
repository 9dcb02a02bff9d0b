/** Behind trusted HTTP proxies, a request's source is the address that they name; otherwise it is the peer. */
import assert from "node:assert/strict";
import { connect as connectHttp2 } from "node:http2";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import type { Asked, AskOptions, Protocol } from "../support/http-client.ts";
import { ipPolicy } from "../support/objects.ts";

let fixture: EdgeWithAgent;

before(async () => {
  fixture = await startEdgeWithAgent({
    trustedForwarders: ["127.0.0.1/32", "10.0.0.0/8", "2001:db8:1::/48"],
    limits: { traces: { sampled: { perSecond: 1e6, burst: 1e6 } } },
  });
  for (const { kind, id, doc } of ipPolicy("ipp_1", { "192.0.2.0/24": "allow", "2001:db8:2::/48": "allow" })) {
    fixture.put(kind, id, doc);
  }
});
after(() => fixture.stop());

type Header = string | readonly string[];

/** Sent from the trusted proxy unless `source` is given. */
function ask(protocol: Protocol, forwardedFor: Header | undefined, more: Partial<AskOptions> = {}): Promise<Asked> {
  const headers = { ...(forwardedFor !== undefined && { "x-forwarded-for": forwardedFor }), ...more.headers };
  return fixture.ask(protocol, { source: "127.0.0.1", ...more, headers });
}

async function statuses(protocol: Protocol, cases: readonly (readonly [Header | undefined, number])[]): Promise<void> {
  for (const [forwardedFor, status] of cases) {
    assert.equal((await ask(protocol, forwardedFor)).status, status, JSON.stringify(forwardedFor));
  }
}

for (const protocol of protocols) {
  describe(`the source of a request over ${protocol}`, () => {
    it(`R3, R4: the source of a request over ${protocol} is the right-most address behind a trusted proxy that is not one itself`, async () => {
      fixture.route({ ip_restriction: { enabled: true, ip_policy_ids: ["ipp_1"] } });
      await statuses(protocol, [
        ["192.0.2.7", 200],
        ["::ffff:192.0.2.7", 200],
        ["2001:db8:2::7", 200],
        ["198.51.100.7", 403],
        // What the client itself sent is left of what the proxies added.
        ["192.0.2.7, 198.51.100.7", 403],
        ["198.51.100.7, 192.0.2.7", 200],
        ["no address, 192.0.2.7", 200],
        ["192.0.2.7, 10.1.2.3,2001:db8:1::9", 200],
        [["198.51.100.7", "192.0.2.7, 10.1.2.3"], 200],
        [["192.0.2.7", "198.51.100.7"], 403],
        // Only proxies: the first one is then the client.
        ["10.1.2.3", 403],
        [undefined, 403],
      ]);
    });

    it(`R3, R4: the source of a request over ${protocol} is the peer if that is not a trusted proxy, whatever it sends`, async () => {
      fixture.route({ ip_restriction: { enabled: true, ip_policy_ids: ["ipp_1"] } });
      for (const forwardedFor of ["192.0.2.7", "not an address"]) {
        const answer = await ask(protocol, forwardedFor, { source: "127.0.0.9" });
        assert.equal(answer.status, 403, forwardedFor);
        assert.equal(answer.headers["postern-error-code"], errorCode("source_denied"));
      }
    });

    it(`R3: the source of a request over ${protocol} is not guessed: an invalid value from a trusted proxy is refused`, async () => {
      fixture.route({});
      const reached = fixture.received.length;
      for (const forwardedFor of [
        "",
        "unknown",
        "_hidden",
        "192.0.2.7:1234",
        "[2001:db8:2::7]",
        "fe80::1%eth0",
        "192.0.2.07",
        "192.0.2.7,",
        "192.0.2.7, , 10.1.2.3",
        "192.0.2.7;10.1.2.3",
        ["192.0.2.7", ""],
        Array.from({ length: 40 }, () => "10.1.2.3").join(","),
      ]) {
        const answer = await ask(protocol, forwardedFor);
        assert.equal(answer.status, 400, JSON.stringify(forwardedFor));
        assert.equal(answer.headers["postern-error-code"], errorCode("forwarding_unreadable"));
      }
      assert.equal(fixture.received.length, reached);
      await statuses(protocol, [[Array.from({ length: 16 }, () => "10.1.2.3").join(","), 200]]);
    });

    it(`R4: the source of a request over ${protocol} is the address that the account's restriction checks`, async () => {
      fixture.route({});
      fixture.put("ip_restriction", "ipx_1", { type: "endpoints", enforced: true, ip_policy_ids: ["ipp_1"] });
      const name = `own-${protocol}.apps.example.com`;
      await fixture.agent.bind({ hostname: name });
      for (const asked of [host, name]) {
        assert.equal((await ask(protocol, "192.0.2.7", { host: asked })).status, 200);
        assert.equal((await ask(protocol, "198.51.100.7", { host: asked })).status, 403);
      }
      fixture.edge.remove("ip_restriction", "ipx_1");
    });

    it(`R3: the source of a request over ${protocol} is in variables, traces and, after the proxies' own values, X-Forwarded-For`, async () => {
      fixture.route({
        request_headers: {
          enabled: true,
          add: { "x-client": "${conn.client_ip} ${.ngrok.client_ip} ${conn.client_port}" },
          remove: [],
        },
      });
      const answer = await ask(protocol, "198.51.100.7, 192.0.2.7, 10.1.2.3", {
        headers: { "x-forwarded-proto": "https", "x-forwarded-host": "shown.example.com" },
      });
      const seen = fixture.received.at(-1)?.headers;
      assert.equal(seen?.["x-client"], "192.0.2.7 192.0.2.7 0");
      assert.equal(seen["x-forwarded-for"], "198.51.100.7, 192.0.2.7, 10.1.2.3, 127.0.0.1");
      assert.equal(seen["x-forwarded-proto"], "https, https");
      assert.equal(seen["x-forwarded-host"], "shown.example.com");
      const told = await fixture.edge.question({ name: "request", accountId: "ac_1", id: answer.id });
      assert.equal(told.name === "requests" && told.requests[0]?.source, "192.0.2.7");

      await ask(protocol, "192.0.2.7", { source: "127.0.0.9", headers: { "x-forwarded-proto": "gopher" } });
      const other = fixture.received.at(-1)?.headers;
      assert.match(String(other?.["x-client"]), /^127\.0\.0\.9 127\.0\.0\.9 [1-9]\d*$/);
      assert.equal(other?.["x-forwarded-for"], "127.0.0.9");
      assert.equal(other["x-forwarded-proto"], "https");
    });

    it(`R3: the source of a request over ${protocol} is each request's own, on one connection of the proxy`, async () => {
      fixture.route({ ip_restriction: { enabled: true, ip_policy_ids: ["ipp_1"] } });
      const socket = await fixture.connect(protocol, { source: "127.0.0.1" });
      const asked = [
        ["192.0.2.7", 200],
        ["198.51.100.7", 403],
        ["192.0.2.8", 200],
      ] as const;
      if (protocol === "h2") {
        const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
        const answers = asked.map(async ([forwardedFor]) => {
          const stream = session.request({ ":path": "/", ":authority": host, "x-forwarded-for": forwardedFor });
          const [fields] = (await once(stream, "response")) as [Record<string, unknown>];
          return fields[":status"];
        });
        assert.deepEqual(
          await Promise.all(answers),
          asked.map(([, status]) => status),
        );
        session.destroy();
        return;
      }
      for (const [forwardedFor, status] of asked) {
        socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nX-Forwarded-For: ${forwardedFor}\r\n\r\n`);
        const [answer] = (await once(socket, "data")) as [Buffer];
        assert.match(answer.toString("latin1"), new RegExp(`^HTTP/1.1 ${status} `));
      }
      socket.destroy();
    });

    it(`the source of a request over ${protocol} is explained as it is then decided`, async () => {
      fixture.route({ ip_restriction: { enabled: true, ip_policy_ids: ["ipp_1"] } });
      for (const forwardedFor of ["192.0.2.7", "198.51.100.7", "unknown"]) {
        const told = await fixture.edge.question({
          name: "explain_request",
          accountId: "ac_1",
          siteId: "edghts_1",
          request: {
            method: "GET",
            host,
            target: "/",
            headers: [["x-forwarded-for", forwardedFor]],
            source: "127.0.0.1",
            body: "",
            response: undefined,
          },
        });
        assert.equal(told.name, "explanation");
        const { steps, errorCode, requestHeaders } = told.explanation;
        const answer = await ask(protocol, forwardedFor);
        assert.equal(errorCode, answer.headers["postern-error-code"], forwardedFor);
        const happened = await fixture.edge.question({ name: "request", accountId: "ac_1", id: answer.id });
        assert.deepEqual(happened.name === "requests" && happened.requests[0]?.steps, steps);
        if (errorCode === undefined) {
          const [, line] = requestHeaders.find(([name]) => name === "x-forwarded-for") ?? [];
          assert.equal(line, fixture.received.at(-1)?.headers["x-forwarded-for"]);
        }
      }
    });
  });
}

describe("the source of a request over HTTP/1.1", () => {
  it("W5, R3: the source of a request over HTTP/1.1 is not hidden by naming X-Forwarded-For in Connection", async () => {
    fixture.route({ ip_restriction: { enabled: true, ip_policy_ids: ["ipp_1"] } });
    const named = { headers: { connection: "x-forwarded-for" } };
    assert.equal((await ask("h1", "198.51.100.7", named)).status, 403);
    assert.equal((await ask("h1", "192.0.2.7", named)).status, 200);
    assert.equal(fixture.received.at(-1)?.headers["x-forwarded-for"], "192.0.2.7, 127.0.0.1");
  });
});

describe("the source of a request behind both kinds of proxies", () => {
  let both: EdgeWithAgent;
  before(async () => {
    both = await startEdgeWithAgent({ trustedProxies: ["127.0.0.1/32"], trustedForwarders: ["10.0.0.0/8"] });
    for (const { kind, id, doc } of ipPolicy("ipp_1", { "192.0.2.0/24": "allow" })) both.put(kind, id, doc);
    both.route({ ip_restriction: { enabled: true, ip_policy_ids: ["ipp_1"] } });
  });
  after(() => both.stop());

  it("R3: the source of a request behind both kinds of proxies is the one that X-Forwarded-For names when the PROXY header names a trusted proxy, and not otherwise", async () => {
    for (const [peer, forwardedFor, status] of [
      ["10.0.0.1", "192.0.2.7", 200],
      ["10.0.0.1", "198.51.100.7", 403],
      ["198.51.100.7", "192.0.2.7", 403],
      ["192.0.2.7", "198.51.100.7", 200],
    ] as const) {
      const preface = `PROXY TCP4 ${peer} 127.0.0.1 4000 443\r\n`;
      const answer = await both.ask("h1", { preface, headers: { "x-forwarded-for": forwardedFor } });
      assert.equal(answer.status, status, `${peer} ${forwardedFor}`);
    }
  });
});
