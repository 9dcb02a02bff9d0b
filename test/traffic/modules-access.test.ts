/** Modules that refuse visitors: by address, by user agent, and webhooks without a signature. */
import assert from "node:assert/strict";
import { connect as connectHttp2 } from "node:http2";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { signSample } from "../../src/webhooks/webhook-verification.ts";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { RawH2, types } from "../support/h2-frames.ts";
import { protocols } from "../support/http-client.ts";
import { ipPolicy } from "../support/objects.ts";

let fixture: EdgeWithAgent;
before(async () => (fixture = await startEdgeWithAgent()));
after(() => fixture.stop());

/** Fails unless the request was refused with this code before it reached the service. */
async function assertRefused(asking: Promise<{ status: number; headers: object }>, status: number, code: number) {
  const reached = fixture.received.length;
  const answer = await asking;
  assert.equal(answer.status, status);
  assert.equal((answer.headers as Record<string, unknown>)["postern-error-code"], `ERR_POSTERN_${code}`);
  assert.equal(fixture.received.length, reached);
}

for (const protocol of protocols) {
  describe(`the IP restriction over ${protocol}`, () => {
    before(() => {
      const one = ipPolicy("ipp_1", { "127.0.0.0/30": "allow", "127.0.0.3/32": "deny" });
      const two = ipPolicy("ipp_2", { "127.0.0.9/32": "allow", "::ffff:7f00:2/128": "deny" });
      for (const { kind, id, doc } of [...one, ...two]) fixture.put(kind, id, doc);
      fixture.route({ ip_restriction: { enabled: true, ip_policy_ids: ["ipp_1", "ipp_2"] } });
    });

    it(`R4: the IP restriction over ${protocol} admits what a policy allows and none denies, whatever the header fields say`, async () => {
      for (const source of ["127.0.0.1", "127.0.0.9"]) {
        assert.equal((await fixture.ask(protocol, { source })).status, 200, source);
      }
      const lies = { "x-forwarded-for": "127.0.0.1", "x-real-ip": "127.0.0.1", forwarded: "for=127.0.0.1" };
      for (const source of ["127.0.0.2", "127.0.0.3", "127.0.0.4"]) {
        await assertRefused(fixture.ask(protocol, { source, headers: lies }), 403, 3205);
      }
    });

    it(`R4: the IP restriction over ${protocol} decides before the body is read and before any other module`, async () => {
      fixture.route({
        ip_restriction: { enabled: true, ip_policy_ids: ["ipp_1"] },
        webhook_verification: { enabled: true, provider: "github", secret: "s" },
      });
      const refused = fixture.ask(protocol, { source: "127.0.0.9", method: "POST", body: "x".repeat(100_000) });
      await assertRefused(refused, 403, 3205);
    });

    it(`R4, R6: the IP restriction over ${protocol} admits no one by policies without an allow rule, and closes the route when a policy is deleted`, async () => {
      fixture.put("ip_policy", "ipp_none", {});
      fixture.route({ ip_restriction: { enabled: true, ip_policy_ids: ["ipp_none"] } });
      await assertRefused(fixture.ask(protocol), 403, 3205);
      fixture.route({ ip_restriction: { enabled: true, ip_policy_ids: ["ipp_gone"] } });
      assert.equal((await fixture.ask(protocol)).status, 500);
    });

    it(`the IP restriction over ${protocol} follows a rule that is added and removed`, async () => {
      fixture.put("ip_policy", "ipp_live", {});
      fixture.route({ ip_restriction: { enabled: true, ip_policy_ids: ["ipp_live"] } });
      await assertRefused(fixture.ask(protocol), 403, 3205);
      fixture.put("ip_policy_rule", "ipr_live", { ip_policy_id: "ipp_live", cidr: "127.0.0.1/32", action: "allow" });
      assert.equal((await fixture.ask(protocol)).status, 200);
      fixture.edge.remove("ip_policy_rule", "ipr_live");
      await assertRefused(fixture.ask(protocol), 403, 3205);
    });
  });

  describe(`the user agent filter over ${protocol}`, () => {
    const filter = (allow: string[], deny: string[]) =>
      fixture.route({ user_agent_filter: { enabled: true, allow, deny } });
    const as = (agent: string) => fixture.ask(protocol, { headers: { "user-agent": agent } });

    it(`the user agent filter over ${protocol} admits what allow matches, and everything that deny does not match`, async () => {
      filter(["(?i)^mozilla.*firefox"], ["(?i)mozilla", "bot"]);
      assert.equal((await as("Mozilla/5.0 Firefox/1")).status, 200);
      assert.equal((await as("curl/8")).status, 200);
      await assertRefused(as("Mozilla/5.0"), 403, 3211);
      await assertRefused(as("a bot"), 403, 3211);
    });

    it(`the user agent filter over ${protocol} refuses a request with several, of which the service may go by another`, async () => {
      filter([], ["curl"]);
      const before = fixture.received.length;
      for (const agents of [
        ["Mozilla/5.0", "curl/8"],
        ["curl/8", "Mozilla/5.0"],
      ]) {
        const line = (agent: string): string => `User-Agent: ${agent}\r\n`;
        if (protocol === "h1") {
          const client = await fixture.connect(protocol);
          client.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n${agents.map(line).join("")}\r\n`);
          assert.match(
            String((await once(client, "data"))[0]),
            new RegExp(`^HTTP/1\\.1 403 [^]*${errorCode("user_agent_denied")}`),
          );
          client.destroy();
        } else {
          const ca = fixture.edge.authority.certificatePem;
          const raw = await RawH2.open({ port: fixture.edge.edge.https.port, host, ca });
          raw.request(1, [...raw.fields(), ...agents.map((agent) => ["user-agent", agent] as const)]);
          const head = await raw.takeType(types.headers, 1);
          assert.ok(head?.payload.includes(errorCode("user_agent_denied")));
          raw.destroy();
        }
      }
      assert.equal(fixture.received.length, before);
    });

    it(`the user agent filter over ${protocol} refuses a request without one, unless allow matches nothing at all`, async () => {
      filter([], []);
      await assertRefused(fixture.ask(protocol), 403, 3211);
      filter(["^$"], [".*"]);
      assert.equal((await fixture.ask(protocol)).status, 200);
      await assertRefused(as("curl/8"), 403, 3211);
    });

    it(`D7: the user agent filter over ${protocol} is not slowed down by expressions and user agents that are made for it`, async () => {
      filter([], ["(a+)+$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(a|aa)+$"]);
      // A backtracking engine would never answer.
      assert.equal((await as(`${"a".repeat(15_000)}!`)).status, 200);
      await assertRefused(as("a".repeat(15_000)), 403, 3211);
    });
  });

  describe(`webhook verification over ${protocol}`, () => {
    const body = Buffer.from('{ "action":"push",\r\n "tab":"\\t", "é": 1 }\n');
    const verify = (provider: string, secret: string) =>
      fixture.route({ webhook_verification: { enabled: true, provider, secret } });
    const signed = (provider: string, secret: string, content = body) =>
      signSample(provider, { secret, body: content, url: `https://${host}/`, now: fixture.clock.now() }).headers;
    const post = (headers: Readonly<Record<string, string | readonly string[]>>, content: string | Buffer = body) =>
      fixture.ask(protocol, { method: "POST", headers, body: content });

    it(`I6: webhook verification over ${protocol} passes on a body whose signature verifies, byte for byte`, async () => {
      for (const provider of ["github", "stripe", "slack", "shopify", "svix", "hubspot"]) {
        const secret = provider === "svix" ? Buffer.alloc(24, "secret").toString("base64") : "secret";
        verify(provider, secret);
        const answer = await post({ "content-type": "application/json", ...signed(provider, secret) });
        assert.equal(answer.status, 200, provider);
        assert.ok(fixture.received.at(-1)?.body.equals(body), provider);
      }
    });

    it(`I6: webhook verification over ${protocol} refuses another body, another secret, no signature, two signatures, and a stale one`, async () => {
      verify("slack", "secret");
      const headers = signed("slack", "secret");
      await assertRefused(post(headers, Buffer.concat([body, Buffer.from(" ")])), 403, 3204);
      await assertRefused(post(signed("slack", "other")), 403, 3204);
      await assertRefused(post({}), 403, 3204);
      const [name = "", value = ""] = Object.entries(headers).find(([one]) => one.includes("signature")) ?? [];
      await assertRefused(post({ ...headers, [name]: [value, value] }), 403, 3204);
      fixture.clock.move(301_000);
      await assertRefused(post(headers), 403, 3204);
      assert.equal((await post(signed("slack", "secret"))).status, 200);
    });

    it(`I6: webhook verification over ${protocol} bounds the body that it holds, whether its length is announced or not`, async () => {
      verify("github", "secret");
      const large = Buffer.alloc(5 * 1024 * 1024 + 1, "a");
      await assertRefused(post(signed("github", "secret", large), large), 413, 3016);
      const fits = large.subarray(1);
      assert.equal((await post(signed("github", "secret", fits), fits)).status, 200);
      assert.equal(fixture.received.at(-1)?.body.length, fits.length);
      const socket = await fixture.connect(protocol);
      const reached = fixture.received.length;
      if (protocol === "h1") {
        socket.on("error", () => {});
        socket.write(
          `POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\nX-Hub-Signature-256: sha256=00\r\n\r\n`,
        );
        socket.write(`${large.length.toString(16)}\r\n`);
        socket.write(large);
        const [answer] = (await once(socket, "data")) as [Buffer];
        assert.match(answer.toString("latin1"), /^HTTP\/1\.1 413 /);
      } else {
        const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
        const stream = session.request({
          ":method": "POST",
          ":path": "/",
          ":authority": host,
          "x-hub-signature-256": "sha256=00",
        });
        stream.on("error", () => {});
        stream.write(large);
        const [fields] = (await once(stream, "response")) as [Record<string, unknown>];
        assert.equal(fields[":status"], 413);
        session.destroy();
      }
      socket.destroy();
      assert.equal(fixture.received.length, reached);
    });

    it(`I6: webhook verification over ${protocol} accepts a body of unknown length that turns out to be empty`, async () => {
      verify("github", "secret");
      const headers = signed("github", "secret", Buffer.alloc(0)) as Record<string, string>;
      const socket = await fixture.connect(protocol);
      if (protocol === "h1") {
        const lines = Object.entries({ host, "transfer-encoding": "chunked", ...headers });
        // In one piece: the body has ended before it is read.
        socket.write(
          `POST / HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n0\r\n\r\n`,
        );
        const [answer] = (await once(socket, "data")) as [Buffer];
        assert.match(answer.toString("latin1"), /^HTTP\/1\.1 200 /);
      } else {
        const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
        const stream = session.request({ ":method": "POST", ":path": "/", ":authority": host, ...headers });
        stream.end();
        const [fields] = (await once(stream, "response")) as [Record<string, unknown>];
        assert.equal(fields[":status"], 200);
        session.destroy();
      }
      socket.destroy();
      assert.equal(fixture.received.at(-1)?.body.length, 0);
    });

    it(`webhook verification over ${protocol} answers a provider's test of the endpoint itself`, async () => {
      verify("twitter", "secret");
      const reached = fixture.received.length;
      const answer = await fixture.ask(protocol, { path: "/?crc_token=abc" });
      assert.equal(answer.status, 200);
      assert.match(answer.body.toString(), /"response_token":"sha256=/);
      assert.equal(fixture.received.length, reached);
    });
  });
}
