import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { signSample, verifyWebhook } from "../webhooks/webhook-verification.ts";
import { LocalRefusal } from "./local-refusal.ts";
import { signAnew, webhooksOf } from "./sign-anew.ts";
import type { Outgoing } from "./outgoing-request.ts";

const url = "https://hooks.example.com";
const hour = 3_600_000;
const then = 1_700_000_000_000;
const now = then + 5 * hour;
const body = Buffer.from('{"type":"ping"}');

/** A webhook that arrived at `then`. */
function old(provider: string, secret: string): Outgoing {
  const signed = signSample(provider, { secret, body, url: `${url}/in`, now: then });
  const fields = [["host", "hooks.example.com"], ...Object.entries(signed.headers)] as [string, string][];
  return { method: "POST", uri: "/in", fields, body, hasBody: true, hasLength: true };
}

async function wrongWith(provider: string, secret: string, { uri, method, fields, body: sent }: Outgoing) {
  const getAll = (name: string): string[] =>
    fields.flatMap(([key, value]) => (key.toLowerCase() === name ? [value] : []));
  const message = { method, url: url + uri, headers: { getAll }, body: sent };
  return (await verifyWebhook(provider, secret, message, now)).wrong;
}

describe("replayed webhooks", () => {
  for (const [provider, secret] of [
    ["slack", "s3cret"],
    ["stripe", "whsec_s3cret"],
  ] as const) {
    it(`replayed webhooks of ${provider} get one signature with the current time`, async () => {
      const came = old(provider, secret);
      assert.notEqual(await wrongWith(provider, secret, came), undefined);
      const sent = await signAnew(came, { provider, secret }, { url, now, isAsked: false });
      assert.equal(await wrongWith(provider, secret, sent), undefined);
      assert.equal(sent.fields.length, came.fields.length);
    });
  }

  it("replayed webhooks with a new body get a signature for that body", async () => {
    const edited = { ...old("github", "s3cret"), body: Buffer.from("{}") };
    const sent = await signAnew(edited, { provider: "github", secret: "s3cret" }, { url, now, isAsked: false });
    assert.equal(await wrongWith("github", "s3cret", sent), undefined);
  });

  it("requests without a signature, or of tunnels that verify none, are replayed unchanged", async () => {
    const plain: Outgoing = {
      method: "GET",
      uri: "/",
      fields: [["host", "a"]],
      body: Buffer.alloc(0),
      hasBody: false,
      hasLength: false,
    };
    const webhooks = { provider: "slack", secret: "s3cret" };
    assert.equal(await signAnew(plain, webhooks, { url, now, isAsked: false }), plain);
    assert.equal(await signAnew(plain, undefined, { url, now, isAsked: false }), plain);
    assert.ok((await signAnew(plain, webhooks, { url, now, isAsked: true })).fields.length > 1);
    await assert.rejects(
      signAnew(plain, undefined, { url, now, isAsked: true }),
      (error: unknown) => error instanceof LocalRefusal && error.reason === "local_replay_impossible",
    );
  });

  it("webhooks are recognised by the verification options of their tunnel", () => {
    assert.deepEqual(webhooksOf({ WebhookVerification: { provider: "a", secret: "b" } }), {
      provider: "a",
      secret: "b",
    });
    for (const options of [undefined, {}, { WebhookVerification: { provider: "a" } }]) {
      assert.equal(webhooksOf(options), undefined);
    }
  });
});
