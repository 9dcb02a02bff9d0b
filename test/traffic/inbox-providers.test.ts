/** Webhooks of every provider that a test can sign for: stored, and delivered late with a signature that is valid then. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { providers } from "../../src/webhooks/providers.ts";
import type { Signed } from "../../src/webhooks/scheme.ts";
import { sign, verifyWebhook } from "../../src/webhooks/verify.ts";
import { startInboxWorld } from "../support/inbox-world.ts";
import type { InboxWorld, ReceivedRequest } from "../support/inbox-world.ts";

/** Only Amazon has the key of SNS. */
const signed = Object.keys(providers).filter((provider) => provider !== "sns");
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
  const send = async (provider: string): Promise<Sent> => {
    const { signing, verifying } = secretsOf(provider);
    const path = `/${provider}`;
    await world.route(path, {
      webhook_verification: { enabled: true, provider, secret: verifying },
      inbox: { enabled: true },
    });
    const at = Date.now() - ageMs;
    const plain = {
      url: `https://${world.host}${path}`,
      body: Buffer.from(`{"id":"evt_1","type":"made","provider":"${provider}"}`),
    };
    const sample: Signed = sign(provider, { secret: signing, now: at, ...plain });
    const { url = plain.url, body = plain.body, headers } = sample;
    const ask = (sent: Buffer, fields: Readonly<Record<string, string>>) =>
      world.platform.request(url, { method: "POST", headers: fields, body: sent.toString() });
    const forged = await ask(Buffer.from("{}"), {});
    assert.ok(forged.status === 403 || forged.status === 401, `${provider}: forged ${forged.status}`);
    assert.equal((await ask(body, headers)).status, 202, provider);
    return { provider, url, headers, body, at };
  };
  const gotOf = (provider: string): readonly ReceivedRequest[] =>
    world.received.filter(({ url }) => url.split("?")[0] === `/${provider}`);

  it("an inbox stores a valid webhook, rejects a forged one, and signs anew what it delivers late", async () => {
    const sent: Sent[] = [];
    for (const provider of signed) sent.push(await send(provider));
    const agent = await world.startAgent();
    await world.arrived(signed.length);
    for (const one of sent) {
      const { provider } = one;
      const got = gotOf(provider);
      assert.equal(got.length, 1, provider);
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
