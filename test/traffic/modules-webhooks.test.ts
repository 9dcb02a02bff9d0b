/** Webhook verification on real traffic: the operator's settings, replays, and providers that test the endpoint. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { signSample } from "../../src/webhooks/webhook-verification.ts";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import type { Asked } from "../support/http-client.ts";

const maxBytes = 1000;
const secret = Buffer.alloc(24, "secret").toString("base64");
let strict: EdgeWithAgent;
let plain: EdgeWithAgent;

before(async () => {
  const limits = { traces: { sampled: { perSecond: 1e6, burst: 1e6 } } };
  strict = await startEdgeWithAgent({ webhookMaxBytes: maxBytes, webhookRefuseReplays: true, limits });
  plain = await startEdgeWithAgent();
});
after(async () => {
  await strict.stop();
  await plain.stop();
});

function verify(fixture: EdgeWithAgent, provider: string, more: object = {}): void {
  const given = { enabled: true, provider, secret: provider === "sns" ? "" : secret };
  fixture.route({ webhook_verification: given, ...more });
}

/** The same by a rule. */
function verifyByRule(fixture: EdgeWithAgent, provider: string, more: object = {}): void {
  const config = { provider, secret: provider === "sns" ? "" : secret };
  const value = JSON.stringify({ on_http_request: [{ actions: [{ type: "verify-webhook", config }] }] });
  fixture.route({ traffic_policy: { enabled: true, value }, ...more });
}

type Fields = Readonly<Record<string, string>>;

function signed(fixture: EdgeWithAgent, provider: string, body: string): Fields {
  return signSample(provider, { secret, body: Buffer.from(body), url: `https://${host}/`, now: fixture.clock.now() })
    .headers;
}

const codeOf = ({ headers }: Asked): unknown => headers["postern-error-code"];

for (const protocol of protocols) {
  const post = (fixture: EdgeWithAgent, headers: Fields, body: string) =>
    fixture.ask(protocol, { method: "POST", headers, body });

  describe(`webhook verification over ${protocol}`, () => {
    it(`I6: webhook verification over ${protocol} buffers no more of a body than the operator allows, and names the setting`, async () => {
      verify(strict, "github");
      const fits = "a".repeat(maxBytes);
      assert.equal((await post(strict, signed(strict, "github", fits), fits)).status, 200);
      const reached = strict.received.length;
      const refused = await post(strict, signed(strict, "github", `${fits}a`), `${fits}a`);
      assert.equal(refused.status, 413);
      assert.equal(codeOf(refused), errorCode("webhook_too_large"));
      assert.match(refused.body.toString(), /--webhook-max-bytes/);
      assert.equal(strict.received.length, reached);
      const told = await strict.edge.question({ name: "request", accountId: "ac_1", id: refused.id });
      assert.match((told.name === "requests" && told.requests[0]?.steps.at(-1)?.reason) || "", /than the 1000 bytes/);
    });

    it(`I6: webhook verification over ${protocol} accepts a message once, if the operator enables that and the signature covers an id`, async () => {
      for (const [provider, verifies] of ["svix", "clerk", "brex"].flatMap((one) => [
        [one, verify] as const,
        [one, verifyByRule] as const,
      ])) {
        verifies(strict, provider);
        const body = JSON.stringify({ for: `${protocol} ${provider} ${verifies.name}` });
        strict.clock.move(1000);
        const headers = signed(strict, provider, body);
        assert.equal((await post(strict, headers, body)).status, 200);
        // also when something else on the route was changed in between
        verifies(strict, provider, { compression: { enabled: true } });
        const reached = strict.received.length;
        const again = await post(strict, headers, body);
        assert.equal(again.status, 409, provider);
        assert.equal(codeOf(again), errorCode("webhook_replayed"));
        assert.equal(strict.received.length, reached);
        strict.clock.move(1000);
        assert.equal((await post(strict, signed(strict, provider, body), body)).status, 200);
      }
    });

    it(`R6: webhook verification over ${protocol} closes a route whose stored secret stands for an empty key, which anybody can sign with`, async () => {
      for (const provider of ["svix", "clerk", "brex"]) {
        plain.route({ webhook_verification: { enabled: true, provider, secret: "x" } });
        const time = String(Math.floor(plain.clock.now() / 1000));
        const signature = createHmac("sha256", "").update(`msg_1.${time}.{}`).digest("base64");
        const headers = { "svix-id": "msg_1", "svix-timestamp": time, "svix-signature": `v1,${signature}` };
        const reached = plain.received.length;
        assert.equal((await post(plain, headers, "{}")).status, 500, provider);
        assert.equal(plain.received.length, reached);
        const report = await plain.edge.report(
          (message) => message.type === "problems" && message.problems.some(({ message: why }) => why !== undefined),
        );
        assert.match(JSON.stringify(report), /verify webhooks of \w+: the secret must be base64/);
      }
    });

    it(`I6: webhook verification over ${protocol} knows a message again under the scheme's other header names`, async () => {
      verify(strict, "svix");
      strict.clock.move(1000);
      const headers = signed(strict, "svix", "{}");
      assert.equal((await post(strict, headers, "{}")).status, 200);
      const renamed = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.replace("svix-", "webhook-"), value]),
      );
      assert.equal((await post(strict, renamed, "{}")).status, 409);
      const decoy = { ...renamed, ...headers, "svix-id": "msg_other" };
      assert.equal((await post(strict, decoy, "{}")).status, 409);
    });

    it(`webhook verification over ${protocol} accepts a message again after a failed response, because providers retry`, async () => {
      verify(strict, "svix");
      strict.clock.move(1000);
      const headers = signed(strict, "svix", "{}");
      for (const status of [500, 404, 302]) {
        strict.answer((_request, response) => response.writeHead(status).end());
        assert.equal((await post(strict, headers, "{}")).status, status);
      }
      strict.answer(undefined);
      assert.equal((await post(strict, headers, "{}")).status, 200);
      assert.equal((await post(strict, headers, "{}")).status, 409);
    });

    it(`webhook verification over ${protocol} accepts repeated messages unless the operator disables that`, async () => {
      verify(plain, "svix");
      const headers = signed(plain, "svix", "{}");
      for (let count = 0; count < 2; count += 1) assert.equal((await post(plain, headers, "{}")).status, 200);
    });

    it(`webhook verification over ${protocol} is explained without recording the message or fetching a certificate`, async () => {
      const explain = async (headers: Fields, body: string) => {
        const request = {
          method: "POST",
          host,
          target: "/",
          headers: Object.entries(headers),
          source: "127.0.0.1",
          body,
          response: undefined,
        };
        const told = await strict.edge.question({
          name: "explain_request",
          accountId: "ac_1",
          siteId: "edghts_1",
          request,
        });
        assert.equal(told.name, "explanation");
        return told.explanation.steps.find(({ by }) => by === "webhook_verification");
      };
      verify(strict, "svix");
      strict.clock.move(1000);
      const headers = signed(strict, "svix", "{}");
      for (let count = 0; count < 2; count += 1) assert.equal((await explain(headers, "{}"))?.outcome, "passed");
      assert.equal((await post(strict, headers, "{}")).status, 200);
      assert.match((await explain(headers, "{}"))?.reason ?? "", /already used/);

      verify(strict, "sns");
      const url = "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123.pem";
      const notification = {
        Type: "Notification",
        MessageId: "m",
        TopicArn: "arn:aws:sns:us-east-1:1:t",
        Message: "hello",
        Timestamp: new Date(strict.clock.now()).toISOString(),
        SignatureVersion: "2",
        Signature: "AAAA",
        SigningCertURL: url,
      };
      for (let count = 0; count < 2; count += 1) {
        const step = await explain({}, JSON.stringify(notification));
        assert.equal(step?.outcome, "skipped");
        assert.equal(step.reason, `would fetch ${url} and verify the signature with it`);
      }
      assert.match((await explain({}, "{}"))?.reason ?? "", /not an SNS type/);
    });
  });

  describe(`a provider that tests the endpoint over ${protocol}`, () => {
    /** Nothing of it reaches the service. */
    const atEdge = async (asking: Promise<Asked>): Promise<Asked> => {
      const reached = strict.received.length;
      const answer = await asking;
      assert.equal(strict.received.length, reached);
      return answer;
    };

    it(`a provider that tests the endpoint over ${protocol}: Twitter is answered with its token signed`, async () => {
      verify(strict, "twitter");
      const answer = await atEdge(strict.ask(protocol, { path: "/?crc_token=abc%3D&nonce=1" }));
      assert.equal(answer.status, 200);
      assert.equal(answer.headers["content-type"], "application/json");
      const expected = `sha256=${createHmac("sha256", secret).update("abc=").digest("base64")}`;
      assert.deepEqual(JSON.parse(answer.body.toString()), { response_token: expected });
      assert.equal((await atEdge(strict.ask(protocol, { path: "/?crc_token=%7B%7D" }))).status, 403);
      assert.equal((await atEdge(strict.ask(protocol))).status, 403);
    });

    it(`a provider that tests the endpoint over ${protocol}: Worldline gets its token back`, async () => {
      verify(strict, "worldline");
      const header = "x-gcs-webhooks-endpoint-verification";
      const answer = await atEdge(strict.ask(protocol, { headers: { [header]: "b297-tok" } }));
      assert.equal(answer.status, 200);
      assert.equal(answer.headers["content-type"], "text/plain");
      assert.equal(answer.body.toString(), "b297-tok");
      assert.equal((await atEdge(strict.ask(protocol, { headers: { [header]: ["a", "b"] } }))).status, 403);
      assert.equal((await atEdge(strict.ask(protocol, { headers: { [header]: "x".repeat(300) } }))).status, 403);
    });

    it(`a provider that tests the endpoint over ${protocol}: Xero learns whether its signature is valid, and only then`, async () => {
      verify(strict, "xero");
      const intent = '{"events":[],"lastEventSequence":0,"firstEventSequence":0,"entropy":"S0m3r4Nd0mt3xt"}';
      const answer = await atEdge(post(strict, signed(strict, "xero", intent), intent));
      assert.equal(answer.status, 200);
      assert.equal(answer.body.length, 0);
      const wrong = await atEdge(post(strict, { "x-xero-signature": "AAAA" }, intent));
      assert.equal(wrong.status, 401);
      const event = '{"events":[{"eventType":"UPDATE"}]}';
      assert.equal((await post(strict, signed(strict, "xero", event), event)).body.toString(), "served");
    });

    it(`a provider that tests the endpoint over ${protocol}: Zoom is answered with its token signed, when the question itself is signed`, async () => {
      verify(strict, "zoom");
      const question = '{"payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"},"event":"endpoint.url_validation"}';
      const headers = signed(strict, "zoom", question);
      const answer = await atEdge(post(strict, headers, question));
      assert.equal(answer.status, 200);
      assert.deepEqual(JSON.parse(answer.body.toString()), {
        plainToken: "qgg8vlvZRS6UYooatFL8Aw",
        encryptedToken: createHmac("sha256", secret).update("qgg8vlvZRS6UYooatFL8Aw").digest("hex"),
      });
      assert.equal((await atEdge(post(strict, { ...headers, "x-zm-signature": "v0=00" }, question))).status, 403);
      assert.equal((await atEdge(post(strict, {}, question))).status, 403);
      const event = '{"event":"meeting.started","payload":{}}';
      assert.equal((await post(strict, signed(strict, "zoom", event), event)).body.toString(), "served");
    });
  });
}
