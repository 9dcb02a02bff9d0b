import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { providers } from "../../src/webhooks/webhook-providers.ts";
import { signSample } from "../../src/webhooks/webhook-verification.ts";
import { runSharedCommand } from "../support/shared-command.ts";
import { startPlatform } from "../support/platform.ts";
import type { ApiBody, TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

/** All providers except Amazon, because only Amazon has the key of SNS. */
const signers = Object.keys(providers).filter((provider) => provider !== "sns");
const keyPair = generateKeyPairSync("ec", { namedCurve: "prime256v1" });

/** One provider for each signing method. Other providers differ only in the names of header fields. */
const waysToSign =
  "box contentful gitlab graphcms hubspot linear mailchimp mailgun plivo sendgrid stripe svix twilio vmware".split(" ");

const bodyOf = (provider: string): string =>
  ["mailchimp", "plivo"].includes(provider) ? "To=1&From=%2B2" : '{"event":"ä","n":1}';
const pathOf = (provider: string): string => `/${provider}?b=2&a=1%2F`;

/** Returns the secrets as the provider issues them: the signing key, and the customers' verification key. */
function secretsOf(provider: string): { readonly signing: string; readonly verifying: string } {
  if (provider === "sendgrid") {
    return {
      signing: keyPair.privateKey.export({ format: "der", type: "pkcs8" }).toString("base64"),
      verifying: keyPair.publicKey.export({ format: "der", type: "spki" }).toString("base64"),
    };
  }
  const keys: Readonly<Record<string, string>> = {
    microsoft_teams: "c2VjcmV0",
    vmware: "user::pass:word",
    contentful: "s3cret-_".repeat(8),
  };
  const isSvix = ["svix", "clerk", "brex"].includes(provider);
  const secret = isSvix ? "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" : (keys[provider] ?? "s3cret");
  return { signing: secret, verifying: secret };
}

let platform: TestPlatform;
let upstream: HttpService;
let edge: ApiBody;
const bodies: string[] = [];

before(async () => {
  platform = await startPlatform();
  upstream = await startHttpService((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      bodies.push(body);
      response.end("taken");
    });
  });
  await platform.startAgent({ upstream: upstream.port, labels: { app: "hooks" } });
  const backend = (await platform.api("POST", "/backends/tunnel_group", { labels: { app: "hooks" } })).body;
  const hostports = [`hooks.localhost:${platform.publicHttpsPort}`];
  edge = (await platform.api("POST", "/edges/https", { hostports })).body;
  for (const provider of signers) {
    const secret = secretsOf(provider).verifying;
    const made = await platform.api("POST", `/edges/https/${edge.id}/routes`, {
      match_type: "path_prefix",
      match: `/${provider}`,
      backend: { backend_id: backend.id },
      webhook_verification: { provider, secret },
    });
    assert.equal(made.status, 201, made.text);
  }
});
after(async () => {
  await platform.stop();
  await upstream.stop();
});

const send = (...args: string[]) => runSharedCommand(["webhook", "send", "--data-dir", platform.directory, ...args]);
const url = (path: string): string => `https://hooks.localhost:${platform.publicHttpsPort}${path}`;

describe("postern webhook send", () => {
  it("postern webhook send sends the body unchanged", async () => {
    const file = join(platform.directory, "body.json");
    writeFileSync(file, '{ "ref" : "main" }\n');
    const data = ["--secret", "s3cret", "--data", `@${file}`, "-H", "x-more: 1"];
    const { code, stdout, stderr } = await send("github", ...data, url("/github"));
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /< 200\ntaken\n$/);
    assert.equal(bodies.at(-1), '{ "ref" : "main" }\n');
  });

  describe("signs so that the edge accepts it", { concurrency: 4 }, () => {
    for (const provider of waysToSign) {
      it(`postern webhook send signs so that the edge accepts it as ${provider}`, async () => {
        const { signing } = secretsOf(provider);
        const passed = await send(provider, "--secret", signing, "--data", bodyOf(provider), url(pathOf(provider)));
        assert.equal(passed.code, 0, passed.stdout + passed.stderr);
        assert.match(passed.stdout, /< 200\ntaken\n$/);
      });
    }
  });

  it("postern webhook send does not print secrets that the provider itself sends", async () => {
    const secret = "canary-of-the-provider";
    for (const form of [[], ["--json"]]) {
      const { stdout, stderr } = await send("gitlab", "--secret", secret, ...form, url("/github"));
      assert.match(stdout, /x-gitlab-token"?: ?"?\*\*\*/);
      assert.doesNotMatch(stdout + stderr, /canary/);
    }
  });

  for (const provider of signers) {
    it(`the signature of postern webhook send is accepted by the edge as ${provider}`, async () => {
      const sample = { secret: secretsOf(provider).signing, body: Buffer.from(bodyOf(provider)) };
      const to = url(pathOf(provider));
      const signed = signSample(provider, { ...sample, url: to, now: Date.now() });
      const { headers, body = sample.body } = signed;
      const passed = await platform.request(signed.url ?? to, { method: "POST", headers, body });
      assert.deepEqual([passed.status, passed.text], [200, "taken"]);
    });
  }

  it("postern webhook send exits with 7 and the request ID if the request is rejected", async () => {
    const { code, stdout } = await send("github", "--secret", "other", "--json", url("/github"));
    assert.equal(code, 7);
    const { answer } = JSON.parse(stdout) as { answer: Record<string, unknown> };
    assert.equal(answer["status"], 403);
    assert.equal(answer["error_code"], errorCode("webhook_unverified"));
    const kept = await platform.api("GET", `/requests/${String(answer["request_id"])}`);
    assert.equal(kept.body.steps.at(-1).by, "webhook_verification");
  });

  it("postern webhook send reports what it cannot do", async () => {
    assert.match((await send("nobody", url("/"))).stderr, /unknown provider "nobody"/);
    assert.match((await send("sns", url("/"))).stderr, /sign as sns/);
    for (const provider of ["svix", "clerk", "brex", "microsoft_teams"]) {
      const { code, stderr } = await send(provider, "--secret", "x", url(`/${provider}`));
      assert.equal(code, 2, stderr);
      assert.match(stderr, new RegExp(`sign as ${provider}: the secret must be base64`));
    }
    assert.match((await send("github", url("/github"))).stderr, /the secret is required for provider "github"/);
    assert.equal((await send("github", "ftp://hooks.localhost/")).code, 2);
    assert.equal((await send("github", "--data", "@/nonexistent", url("/"))).code, 2);
    assert.equal((await send("github", "--secret", "x", "https://127.0.0.1:1/")).code, 4);
  });
});
