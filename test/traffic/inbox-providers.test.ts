/** Webhooks of every provider that a test can sign for: stored, and delivered late with a signature that is valid then. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { deliveryIds } from "../../src/webhooks/delivery-facts.ts";
import { providers } from "../../src/webhooks/webhook-providers.ts";
import type { Signed } from "../../src/webhooks/scheme.ts";
import { signSample, verifyWebhook } from "../../src/webhooks/webhook-verification.ts";
import { startInboxWorld } from "../support/inbox-world.ts";
import type { InboxWorld, ReceivedRequest } from "../support/inbox-world.ts";

/** Only Amazon has the key of SNS. */
const signed = Object.keys(providers).filter((provider) => provider !== "sns");
/** These sign a time in the body, so another signature is another body. Their ids are not signed. */
const bodySigned = new Set(["linear"]);
const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
/** Seconds between the signing and the arrival. */
const ageMs = 20_000;
const patienceMs = [25_000, 55_000, 175_000, 295_000, 595_000, 3_590_000];

function secretsOf(provider: string): { readonly signing: string; readonly verifying: string } {
  const both = (secret: string) => ({ signing: secret, verifying: secret });
  if (provider === "sendgrid") {
    return {
      signing: privateKey.export({ format: "der", type: "pkcs8" }).toString("base64"),
      verifying: publicKey.export({ format: "der", type: "spki" }).toString("base64"),
    };
  }
  if (["svix", "brex", "clerk", "microsoft_teams"].includes(provider)) {
    return both("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".slice(provider === "microsoft_teams" ? 6 : 0));
  }
  if (provider === "vmware") return both("user::pass:word");
  return both(provider === "contentful" ? "s3cret-_".repeat(8) : "a secret");
}

interface Sent {
  readonly provider: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly at: number;
}

describe("an inbox of each provider", { timeout: 240_000 }, () => {
  let world: InboxWorld;
  before(async () => {
    world = await startInboxWorld();
  });
  after(() => world.stop());

  const verify = async (
    provider: string,
    { url, headers, body }: Pick<Sent, "url" | "headers" | "body">,
    now: number,
  ) => {
    const getAll = (name: string): string[] => (headers[name] === undefined ? [] : [headers[name]]);
    const message = { method: "POST", url, headers: { getAll }, body };
    return (await verifyWebhook(provider, secretsOf(provider).verifying, message, now)).wrong;
  };
  /** Returns a webhook with the provider's delivery id where it has one. */
  const sample = (provider: string, id: string, now: number): Omit<Sent, "provider" | "at"> => {
    const { header, body: members } = deliveryIds[provider] ?? {};
    const [field] = header ?? [];
    const inBody = members?.[0]?.split(".").reduceRight<unknown>((value, name) => ({ [name]: value }), id) as object;
    const url = `https://${world.host}/${provider}`;
    const body = Buffer.from(JSON.stringify({ type: "made", provider, ...inBody }));
    const made: Signed = signSample(provider, { secret: secretsOf(provider).signing, now, url, body, id });
    // A signed id is in a field of the signature.
    return { url, body, ...made, headers: { ...(field !== undefined && { [field]: id }), ...made.headers } };
  };
  const post = ({ url, headers, body }: Omit<Sent, "provider" | "at">) =>
    world.platform.request(url, { method: "POST", headers, body: body.toString() });
  const send = async (provider: string): Promise<Sent> => {
    const { verifying } = secretsOf(provider);
    await world.route(`/${provider}`, {
      webhook_verification: { enabled: true, provider, secret: verifying },
      inbox: { enabled: true },
    });
    const at = Date.now() - ageMs;
    const sent = sample(provider, "evt_1", at);
    const forged = await post({ url: sent.url, headers: {}, body: Buffer.from("{}") });
    assert.ok(forged.status === 403 || forged.status === 401, `${provider}: forged ${forged.status}`);
    const stored = await post(sent);
    assert.equal(stored.status, 202, `${provider}: ${stored.text}`);
    assert.ok(stored.headers["postern-inbox-id"], provider);
    // The provider repeats the webhook, because it did not get the answer.
    const repeated = await post(bodySigned.has(provider) ? sent : sample(provider, "evt_1", at + 1_000));
    const isKnown = Object.hasOwn(deliveryIds, provider);
    assert.equal(repeated.status, 202, `${provider}: ${repeated.text}`);
    assert.equal(repeated.headers["postern-inbox-id"] === undefined, isKnown, `${provider}: a duplicate is dropped`);
    return { provider, at, ...sent };
  };
  const gotOf = (provider: string): readonly ReceivedRequest[] =>
    world.received.filter(({ url }) => url.split("?")[0] === `/${provider}`);

  it("only known providers have a place for the id of a delivery", () => {
    assert.deepEqual(
      Object.keys(deliveryIds).filter((provider) => !Object.hasOwn(providers, provider)),
      [],
    );
  });

  it("an inbox stores a valid webhook, rejects a forged one, drops a repeated one, and signs anew what it delivers late", async () => {
    const sent: Sent[] = [];
    for (const provider of signed) sent.push(await send(provider));
    const agent = await world.startAgent();
    const copiesOf = (provider: string): number => (Object.hasOwn(deliveryIds, provider) ? 1 : 2);
    await world.arrived(signed.reduce((sum, provider) => sum + copiesOf(provider), 0));
    for (const one of sent) {
      const { provider } = one;
      const got = gotOf(provider);
      assert.equal(got.length, copiesOf(provider), provider);
      const [request] = got as [ReceivedRequest];
      const fields = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      const received = { url: `https://${world.host}${request.url}`, headers: fields, body: request.body };
      assert.equal(await verify(provider, received, Date.now()), undefined, provider);
      if (provider === "sendgrid") continue;
      const tolerances = await Promise.all(
        patienceMs.map(async (ms) => await verify(provider, one, one.at + ageMs + ms)),
      );
      const stale = tolerances.findIndex((wrong) => wrong !== undefined);
      if (stale < 0) continue;
      const late = request.at + (patienceMs[stale] as number);
      assert.equal(await verify(provider, received, late), undefined, `${provider} is signed anew`);
    }
    await agent.close();
  });
});
