import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../test/support/clock.ts";
import { exchangeOf, runRequest } from "../../test/support/exchange.ts";
import type { ExchangeInit } from "../../test/support/exchange.ts";
import { routeWith, tableOf } from "../../test/support/routing.ts";
import { parseFields } from "../schema/parse-fields.ts";
import { signSample } from "../webhooks/webhook-verification.ts";
import { modulesWith } from "./index.ts";
import { defaultsOf } from "../settings/setting.ts";
import { webhookSettings } from "../settings/webhooks.ts";
import { webhookVerification } from "./webhook-verification.ts";

const clock = makeManualClock();
const url = "https://app.example.com:8443/in%7E?x=1";

type Init = Omit<ExchangeInit, "headers"> & { readonly headers?: Readonly<Record<string, string>> };

function run(provider: string, init: Init, secret = "s") {
  const route = routeWith("webhook_verification", { provider, secret }, tableOf(clock));
  return runRequest(
    route,
    exchangeOf({
      method: "POST",
      target: "/in%7E?x=1",
      ...init,
      headers: { host: "app.example.com:8443", ...init.headers },
    }),
  );
}

function issues(body: { provider: string; secret: string }): string[] {
  const { doc, issues: found } = parseFields(webhookVerification.fields, body, "replace");
  if (found.length > 0) return found.map(({ path }) => path);
  return (webhookVerification.rules ?? []).flatMap((rule) => rule(doc as never, "https_route")?.path ?? []);
}

describe("webhook verification", () => {
  it("I6: webhook verification passes valid webhooks, over the URL as sent, and rejects all others", async () => {
    for (const provider of ["github", "Square", "TWILIO", "hubspot"]) {
      const body = provider === "TWILIO" ? "a=1&b=2" : '{"n":1}';
      const { headers } = signSample(provider.toLowerCase(), {
        secret: "s",
        body: Buffer.from(body),
        url,
        now: clock.now(),
      });
      assert.equal((await run(provider, { headers, body })).outcome, "passed", provider);
      const refused = await run(provider, { headers, body: `${body}&c=3` });
      assert.deepEqual(refused.answer, { error: "webhook_unverified" });
      assert.equal((await run(provider, { headers, body }, "other")).outcome, "denied");
    }
  });

  it("webhook verification does not wait for the body of an unsigned request", async () => {
    const body = () => assert.fail("the body was asked for");
    const route = routeWith("webhook_verification", { provider: "github", secret: "s" });
    const step = await runRequest(route, { ...exchangeOf({ method: "POST" }), body });
    assert.match(step.reason, /the signature is missing/);
  });

  it("webhook verification rejects a body above its limit, and names the limit and its setting", async () => {
    const table = tableOf(clock, modulesWith({ ...defaultsOf(webhookSettings), webhookMaxBytes: 1000 }));
    const route = routeWith("webhook_verification", { provider: "github", secret: "s" }, table);
    for (const [size, outcome] of [
      [1000, "passed"],
      [1001, "denied"],
    ] as const) {
      const body = Buffer.alloc(size);
      const { headers } = signSample("github", { secret: "s", body, url, now: clock.now() });
      const step = await runRequest(route, exchangeOf({ method: "POST", headers, body }));
      assert.equal(step.outcome, outcome);
      if (outcome === "passed") continue;
      assert.deepEqual(step.answer, { error: "webhook_too_large" });
      assert.match(step.reason, /larger than the 1000 bytes that --webhook-max-bytes allows/);
    }
  });

  it("webhook verification answers endpoint tests at the edge, and invalid tests of Xero with 401", async () => {
    const twitter = await run("twitter", { method: "GET", target: "/?crc_token=abc" });
    assert.equal(twitter.outcome, "answered");
    assert.equal(twitter.answer && "status" in twitter.answer && twitter.answer.status, 200);
    const body = '{"event":"endpoint.url_validation","payload":{"plainToken":"p"}}';
    const zoom = signSample("zoom", { secret: "s", body: Buffer.from(body), url, now: clock.now() });
    assert.equal((await run("zoom", { headers: zoom.headers, body })).outcome, "answered");
    assert.equal(
      (await run("zoom", { headers: { ...zoom.headers, "x-zm-signature": "v0=00" }, body })).outcome,
      "denied",
    );
    const xero = await run("xero", { headers: { "x-xero-signature": "AAAA" }, body: '{"events":[]}' });
    assert.equal(xero.outcome, "denied");
    assert.equal(xero.answer && "status" in xero.answer && xero.answer.status, 401);
  });

  it("webhook verification requires the secret of each provider and repeats none", () => {
    assert.deepEqual(issues({ provider: "GitHub", secret: "s" }), []);
    assert.deepEqual(issues({ provider: "github", secret: "" }), ["secret"]);
    assert.deepEqual(issues({ provider: "SNS", secret: "" }), []);
    assert.deepEqual(issues({ provider: "sns", secret: "s" }), ["secret"]);
    assert.deepEqual(issues({ provider: "nobody", secret: "s" }), ["provider"]);
    assert.deepEqual(issues({ provider: "sendgrid", secret: "AAAA" }), ["secret"]);
    assert.deepEqual(issues({ provider: "svix", secret: "not base64!" }), ["secret"]);
    assert.deepEqual(issues({ provider: "Svix", secret: "x" }), ["secret"]);
    assert.deepEqual(issues({ provider: "svix", secret: "whsec_AAAA" }), ["secret"]);
    assert.deepEqual(issues({ provider: "svix", secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" }), []);
  });

  it("R6: webhook verification closes the route without a secret to verify with", () => {
    assert.throws(
      () => routeWith("webhook_verification", { provider: "github", secret: "" }),
      /the secret is required/,
    );
    assert.throws(
      () => routeWith("webhook_verification", { provider: "svix", secret: "x" }),
      /the secret must be base64/,
    );
    assert.throws(() => routeWith("webhook_verification", { provider: "nobody", secret: "s" }), /does not exist/);
  });
});
