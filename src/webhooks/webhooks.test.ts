import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync } from "node:crypto";
import { describe, it } from "node:test";
import { answerChallenge, answerHandshake } from "./webhook-challenge.ts";
import { findDemandIssue } from "./webhook-demands.ts";
import { topicOf } from "./sns.ts";
import { providerNamed, providers } from "./webhook-providers.ts";
import { secretIssue } from "./secret-formats.ts";
import { signSample, explainUnsigned, verifyWebhook } from "./webhook-verification.ts";

const now = Date.UTC(2026, 10, 20, 12, 0, 0);
const url = "https://hooks.example.com/in?b=2&a=1%2F";
const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });

type Fields = Readonly<Record<string, string | readonly string[]>>;

function headersOf(fields: Fields) {
  const map = new Map(Object.entries(fields).map(([name, value]) => [name.toLowerCase(), [value].flat()]));
  return { getAll: (name: string) => (map.get(name) as string[] | undefined) ?? [] };
}

async function verify(
  provider: string,
  secret: string,
  fields: Fields,
  body: string | Buffer,
  more: { url?: string; method?: string; now?: number } = {},
) {
  const message = {
    method: more.method ?? "POST",
    url: more.url ?? url,
    headers: headersOf(fields),
    body: Buffer.from(body),
  };
  return (await verifyWebhook(provider, secret, message, more.now ?? now)).wrong;
}

/** Secrets as the provider issues them, for signing and for verifying. */
function secretsOf(provider: string): { signing: string; verifying: string; other: string } {
  const same = (secret: string, other: string) => ({ signing: secret, verifying: secret, other });
  switch (provider) {
    case "sendgrid":
      return {
        signing: privateKey.export({ format: "der", type: "pkcs8" }).toString("base64"),
        verifying: publicKey.export({ format: "der", type: "spki" }).toString("base64"),
        other: generateKeyPairSync("ec", { namedCurve: "prime256v1" })
          .publicKey.export({ format: "der", type: "spki" })
          .toString("base64"),
      };
    case "svix":
    case "brex":
    case "clerk":
      return same("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAAA9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    case "microsoft_teams":
      return same("c2VjcmV0", "b3RoZXI=");
    case "vmware":
      return same("user::pass:word", "user::other");
    case "contentful":
      return same("s3cret-_".repeat(8), "another_".repeat(8));
    default:
      return same("s3cret ä", "another");
  }
}

const formSigners = new Set(["mailchimp", "plivo"]);
/** Providers that do not sign the body. */
const bodyless = new Set(["gitlab", "vmware", "mailgun"]);
const timed = new Set(
  "airship box brex buildkite calendly clerk contentful frameio go1 graphcms hostedhooks hubspot linear mailgun mux orb pinwheel sendgrid slack stripe svix tiktok zendesk zoom".split(
    " ",
  ),
);

describe("webhook signatures", () => {
  for (const provider of Object.keys(providers).filter((name) => name !== "sns")) {
    it(`I6: the check of webhook signatures: ${provider} verifies only what its sender signed`, async () => {
      const { signing, verifying, other } = secretsOf(provider);
      const body = formSigners.has(provider) ? "To=1&From=%2B2&To=0" : '{"event":"ä","n":1}';
      const signed = signSample(provider, { secret: signing, body: Buffer.from(body), url, now });
      const sent = signed.body ?? Buffer.from(body);
      const to = { url: signed.url ?? url };
      assert.equal(await verify(provider, verifying, signed.headers, sent, to), undefined);

      assert.notEqual(await verify(provider, other, signed.headers, sent, to), undefined, "another secret");
      const tampered = Buffer.concat([sent, Buffer.from(formSigners.has(provider) ? "&x=1" : " ")]);
      if (!bodyless.has(provider)) {
        assert.notEqual(await verify(provider, verifying, signed.headers, tampered, to), undefined, "another body");
      }
      for (const at of [-1, 1].map((sign) => now + sign * 3_600_000)) {
        const stale = await verify(provider, verifying, signed.headers, sent, { ...to, now: at });
        if (timed.has(provider)) assert.match(stale ?? "", /timestamp is 3600 s/);
        else assert.equal(stale, undefined);
      }
      for (const [name, value] of Object.entries(signed.headers)) {
        const { [name]: _gone, ...rest } = signed.headers;
        assert.notEqual(await verify(provider, verifying, rest, sent, to), undefined, `without ${name}`);
        const twice = { ...signed.headers, [name]: [value, value] };
        assert.match((await verify(provider, verifying, twice, sent, to)) ?? "", /twice/, `${name} twice`);
        for (const damaged of ["", "x", value.slice(0, -3), `${value}AA`]) {
          const changed = { ...signed.headers, [name]: damaged };
          assert.notEqual(await verify(provider, verifying, changed, sent, to), undefined, `${name}: "${damaged}"`);
        }
      }
    });
  }

  it("the check of webhook signatures detects an unsigned request by its header alone", () => {
    assert.match(explainUnsigned("github", headersOf({})) ?? "", /the signature is missing/);
    assert.equal(explainUnsigned("github", headersOf({ "x-hub-signature-256": "x" })), undefined);
  });

  it("the check of webhook signatures finds providers in any case and by alternative names", () => {
    assert.equal(providerNamed("TWILIO"), "twilio");
    assert.equal(providerNamed("signalsciences"), "signal_sciences");
    assert.equal(providerNamed("VMware_Workspace"), "vmware");
    assert.equal(providerNamed("constructor"), undefined);
    assert.equal(Object.keys(providers).length >= 67, true);
  });

  it("the check of webhook signatures accepts any of several signatures, as during a key rotation", async () => {
    const body = '{"n":1}';
    for (const [provider, header] of [
      ["stripe", "stripe-signature"],
      ["pagerduty", "x-pagerduty-signature"],
      ["svix", "svix-signature"],
      ["plivo", "x-plivo-signature-v3"],
    ] as const) {
      const { signing, other } = secretsOf(provider);
      const sample = { body: Buffer.from(body), url, now };
      const one = signSample(provider, { ...sample, secret: signing }).headers;
      const two = signSample(provider, { ...sample, secret: other }).headers;
      const separator = provider === "svix" ? " " : ",";
      const both = { ...one, [header]: `${two[header]}${separator}${one[header]?.replace(/^t=\d+,/, "")}` };
      assert.equal(await verify(provider, signing, both, body), undefined, provider);
    }
    const docusign =
      signSample("docusign", { secret: "s", body: Buffer.from(body), url, now }).headers["x-docusign-signature-1"] ??
      "";
    assert.equal(
      await verify("docusign", "s", { "x-docusign-signature-1": "AAAA", "x-docusign-signature-2": docusign }, body),
      undefined,
    );
  });

  it("I6: the check of webhook signatures accepts only the newest form if required", async () => {
    const body = Buffer.from("{}");
    for (const provider of ["hubspot", "plivo"]) {
      const schemes = providers[provider] ?? [];
      for (const scheme of schemes) {
        const { headers } = scheme.sign({ secret: "s", body, url, method: "POST", now });
        const message = { method: "POST", url, headers: headersOf(headers), body };
        assert.equal((await verifyWebhook(provider, "s", message, now)).wrong, undefined);
        const strict = (await verifyWebhook(provider, "s", message, now, true)).wrong;
        assert.equal(strict === undefined, scheme.isOlder !== true, provider);
        assert.equal(explainUnsigned(provider, message.headers, true) === undefined, scheme.isOlder !== true);
      }
      assert.ok(
        schemes.some(({ isOlder }) => isOlder),
        provider,
      );
    }
  });

  it("webhook options must be supported by the provider", () => {
    const topic = "arn:aws:sns:eu-west-1:123456789012:orders";
    const issue = (provider: string, newestSignatureOnly: boolean, snsTopics: readonly string[]) =>
      findDemandIssue(provider, { newestSignatureOnly, snsTopics })?.path;
    assert.equal(issue("hubspot", true, []), undefined);
    assert.equal(issue("github", true, []), "newest_signature_only");
    assert.equal(issue("sns", false, [topic]), undefined);
    assert.equal(issue("sns", false, ["orders"]), "sns_topics");
    assert.equal(issue("github", false, [topic]), "sns_topics");
    assert.equal(topicOf(Buffer.from(JSON.stringify({ TopicArn: topic }))), topic);
    assert.equal(topicOf(Buffer.from("[]")), undefined);
  });

  it("the check of webhook signatures rejects a signature list with two times", async () => {
    const { headers } = signSample("stripe", { secret: "s", body: Buffer.from("{}"), url, now });
    const value = `${headers["stripe-signature"]},t=${Math.floor(now / 1000)}`;
    assert.match((await verify("stripe", "s", { "stripe-signature": value }, "{}")) ?? "", /timestamp cannot be read/);
  });
});

describe("webhook signatures that providers publish", () => {
  it("webhook signatures that providers publish: GitHub", async () => {
    const headers = {
      "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    };
    assert.equal(await verify("github", "It's a Secret to Everybody", headers, "Hello, World!"), undefined);
  });

  it("webhook signatures that providers publish: Slack", async () => {
    const body =
      "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    const headers = {
      "x-slack-request-timestamp": "1531420618",
      "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    };
    assert.equal(
      await verify("slack", "8f742231b10e8888abcd99yyyzzz85a5", headers, body, { now: 1531420618_000 }),
      undefined,
    );
  });

  it("webhook signatures that providers publish: Svix", async () => {
    const headers = {
      "svix-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "svix-timestamp": "1614265330",
      "svix-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    };
    const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    assert.equal(await verify("svix", secret, headers, '{"test": 2432232314}', { now: 1614265330_000 }), undefined);
  });

  it("webhook signatures that providers publish: Twilio", async () => {
    const body = new URLSearchParams({
      CallSid: "CA1234567890ABCDE",
      Caller: "+14158675309",
      Digits: "1234",
      From: "+14158675309",
      To: "+18005551212",
    }).toString();
    const headers = { "x-twilio-signature": "RSOYDt4T1cUTdK1PDd93/VVr8B8=" };
    assert.equal(
      await verify("twilio", "12345", headers, body, { url: "https://mycompany.com/myapp.php?foo=1&bar=2" }),
      undefined,
    );
  });

  it("webhook signatures that providers publish: HubSpot, versions 1 and 2", async () => {
    const secret = "yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy";
    const v2 = { "x-hubspot-signature": "eee2dddcc73c94d699f5e395f4b9d454a069a6855fbfa152e91e88823087200e" };
    assert.equal(
      await verify("hubspot", secret, v2, "", { url: "https://www.example.com/webhook_uri", method: "GET" }),
      undefined,
    );
    const v1 = { "x-hubspot-signature": "232db2615f3d666fe21a8ec971ac7b5402d33b9a925784df3ca654d05f4817de" };
    const body =
      '[{"eventId":1,"subscriptionId":12345,"portalId":62515,"occurredAt":1564113600000,"subscriptionType":"contact.creation","attemptNumber":0,"objectId":123,"changeSource":"CRM","changeFlag":"NEW","appId":54321}]';
    assert.equal(await verify("hubspot", secret, v1, body), undefined);
  });

  it("webhook signatures that providers publish: Square", async () => {
    const headers = { "x-square-hmacsha256-signature": "2kRE5qRU2tR+tBGlDwMEw2avJ7QM4ikPYD/PJ3bd9Og=" };
    const to = { url: "https://example.com/webhook" };
    assert.equal(await verify("square", "asdf1234", headers, '{"hello":"world"}', to), undefined);
  });

  it("webhook signatures that providers publish: Box, with either of its keys", async () => {
    const body =
      '{"type":"webhook_event","webhook":{"id":"1234567890"},"trigger":"FILE.UPLOADED","source":{"id":"1234567890","type":"file","name":"Test.txt"}}';
    const headers = {
      "box-delivery-timestamp": "2020-01-01T00:00:00-07:00",
      "box-signature-primary": "6TfeAW3A1PASkgboxxA5yqHNKOwFyMWuEXny/FPD5hI=",
      "box-signature-secondary": "v+1CD1Jdo3muIcbpv5lxxgPglOqMfsNHPV899xWYydo=",
    };
    const at = { now: Date.parse("2020-01-01T00:05:00-07:00") };
    for (const key of ["SamplePrimaryKey", "SampleSecondaryKey"]) {
      assert.equal(await verify("box", key, headers, body, at), undefined, key);
    }
    assert.notEqual(await verify("box", "IncorrectKey", headers, body, at), undefined);
  });

  it("webhook signatures that providers publish: Plivo, versions 2 and 3", async () => {
    const v2 = {
      "x-plivo-signature-v2": "ehV3IKhLysWBxC1sy8INm0qGoQYdYsHwuoKjsX7FsXc=",
      "x-plivo-signature-v2-nonce": "12345",
    };
    assert.equal(await verify("plivo", "my_auth_token", v2, "", { url: "https://answer.url" }), undefined);

    const token = "Y2Q2ZDgxZmY5YWRiOTI5YmQ1Njg0MTAxZWIyOTc4";
    const uuid = "3e82ae9d-2c78-4d85-b1a4-6eae7dbafb36";
    const form = new URLSearchParams({
      Direction: "outbound",
      From: "19792014278",
      ALegUUID: uuid,
      CallStatus: "in-progress",
      BillRate: "0.002",
      ParentAuthID: "MANWVLYTK4ZWU1YTY4QA",
      To: "sip:PlivoSignature382029104058171078704104@phone-qa.voice.plivodev.com",
      ALegRequestUUID: uuid,
      CallUUID: uuid,
      RequestUUID: uuid,
      "SIP-H-To": "<sip:PlivoSignature382029104058171078704104@52.9.11.55;transport=udp>;tag=1",
      SessionStart: "2020-04-08 11:34:33.238707",
      Event: "StartApp",
    }).toString();
    const base = "https://plivobin.non-prod.plivops.com/api/v1/validate_signature03.xml";
    for (const [method, to, body, signature] of [
      ["POST", `${base}/?a=b&c=d`, form, "k7Pusd4OxCIjR5IfA9iedDNu/h/gbdYqdzG/MiYtd1c="],
      ["POST", base, form, "iAjE5QqI37mbkYe4w3jTMudqEzbDufdqi7sYwTu64e0="],
      ["GET", `${base}/?a=b&c=d&${form}`, "", "UBq8jAtd32wR8EK9VgxbBn4n5rpI/l1H9iN4WfSEHFQ="],
      ["GET", `${base}?${form}`, "", "i/MQsaQSAd6fiKhOh2qeeeLHZ9faldADSb3/7+Akfbc="],
    ] as const) {
      const headers = { "x-plivo-signature-v3": signature, "x-plivo-signature-v3-nonce": "31627761595286130198" };
      assert.equal(await verify("plivo", token, headers, body, { method, url: to }), undefined, `${method} ${to}`);
    }
  });

  it("webhook signatures that providers publish: SendGrid", async () => {
    const key =
      "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==";
    const headers = {
      "x-twilio-email-event-webhook-signature":
        "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=",
      "x-twilio-email-event-webhook-timestamp": "1600112502",
    };
    const body =
      '[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address","sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0","smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n';
    assert.equal(await verify("sendgrid", key, headers, body, { now: 1600112502_000 }), undefined);
  });
});

describe("webhook signatures over more than the body", () => {
  it("webhook signatures over more than the body: HubSpot version 3 covers method and URL, with or without decoding of the documented characters", async () => {
    const sample = { secret: "s", body: Buffer.from("{}"), url, now };
    const { headers } = signSample("hubspot", sample);
    assert.notEqual(await verify("hubspot", "s", headers, "{}", { url: `${url}x` }), undefined);
    assert.notEqual(await verify("hubspot", "s", headers, "{}", { method: "PUT" }), undefined);
    const decoded = signSample("hubspot", { ...sample, url: url.replace("%2F", "/") }).headers;
    assert.equal(await verify("hubspot", "s", decoded, "{}"), undefined);
  });

  it("webhook signatures over more than the body: Square covers the URL; Box accepts either key", async () => {
    const sample = { secret: "s", body: Buffer.from("{}"), url, now };
    assert.notEqual(
      await verify("square", "s", signSample("square", sample).headers, "{}", { url: `${url}x` }),
      undefined,
    );
    const { "box-signature-primary": signature = "", ...rest } = signSample("box", sample).headers;
    assert.equal(await verify("box", "s", { ...rest, "box-signature-secondary": signature }, "{}"), undefined);
    const both = { ...rest, "box-signature-primary": "AAAA", "box-signature-secondary": signature };
    assert.equal(await verify("box", "s", both, "{}"), undefined);
  });

  it("webhook signatures over more than the body: Twilio signs JSON by its hash in the URL, which must be that of the body", async () => {
    const body = '{"a":1}';
    const signed = signSample("twilio", { secret: "s", body: Buffer.from(body), url, now });
    assert.match(signed.url ?? "", /&bodySHA256=[0-9a-f]{64}$/);
    assert.equal(await verify("twilio", "s", signed.headers, body, { url: signed.url ?? "" }), undefined);
    assert.match(
      (await verify("twilio", "s", signed.headers, '{"a":2}', { url: signed.url ?? "" })) ?? "",
      /does not match the hash/,
    );
  });

  it("Contentful covers the headers that it names, and requires its time among them", async () => {
    const { headers } = signSample("contentful", {
      secret: secretsOf("contentful").signing,
      body: Buffer.from("{}"),
      url,
      now,
    });
    const time = headers["x-contentful-timestamp"] ?? "";
    const later = { ...headers, "x-contentful-timestamp": String(Number(time) + 1) };
    assert.match(
      (await verify("contentful", secretsOf("contentful").signing, later, "{}")) ?? "",
      /signature is another/,
    );
    const unnamed = { ...headers, "x-contentful-signed-headers": "x-contentful-signed-headers" };
    assert.match(
      (await verify("contentful", secretsOf("contentful").signing, unnamed, "{}")) ?? "",
      /timestamp is not signed/,
    );
  });
});

describe("endpoint tests of providers", () => {
  const ask = (provider: string, target: string, fields: Fields = {}, method = "GET") =>
    answerHandshake(provider, "s", { method, url: `https://h${target}`, headers: headersOf(fields) });

  it("webhook verification answers Twitter's challenge, but signs nothing that resembles a webhook", () => {
    const answer = ask("twitter", "/?crc_token=abc%3D&nonce=1");
    assert.deepEqual(JSON.parse(answer?.body ?? ""), {
      response_token: `sha256=${createHmac("sha256", "s").update("abc=").digest("base64")}`,
    });
    assert.equal(ask("twitter", "/?crc_token=%7B%22a%22:1%7D"), undefined);
    assert.equal(ask("twitter", "/?crc_token=abc", {}, "POST"), undefined);
    assert.equal(ask("github", "/?crc_token=abc"), undefined);
  });

  it("webhook verification echoes Worldline's token", () => {
    const header = "x-gcs-webhooks-endpoint-verification";
    assert.equal(ask("worldline", "/", { [header]: "tok" })?.body, "tok");
    assert.equal(ask("worldline", "/", { [header]: "x".repeat(300) }), undefined);
    assert.equal(ask("worldline", "/"), undefined);
  });

  it("webhook verification answers Zoom's and Xero's signed questions", () => {
    const zoom = answerChallenge(
      "zoom",
      "s",
      Buffer.from('{"event":"endpoint.url_validation","payload":{"plainToken":"p"}}'),
    );
    assert.equal((JSON.parse(zoom?.body ?? "") as { plainToken: string }).plainToken, "p");
    assert.equal(answerChallenge("zoom", "s", Buffer.from('{"event":"meeting.started"}')), undefined);
    assert.equal(answerChallenge("xero", "s", Buffer.from('{"events":[],"entropy":"x"}'))?.status, 200);
    assert.equal(answerChallenge("xero", "s", Buffer.from('{"events":[{}]}')), undefined);
  });
});

describe("the secret of a webhook provider", () => {
  it("I6: the secret of a webhook provider is not empty and not shorter than the provider's own, for every provider", () => {
    const short: Readonly<Record<string, readonly string[]>> = {
      svix: ["x", "whsec_", "whsec_x", "=", "whsec_AAAA", Buffer.alloc(23).toString("base64")],
      clerk: ["x", "whsec_x", Buffer.alloc(23).toString("base64")],
      brex: ["x", "whsec_x", Buffer.alloc(23).toString("base64")],
      microsoft_teams: ["x", "=", "==", "whsec_x", "AAAAA"],
      contentful: ["s", "s".repeat(63)],
      vmware: ["user", "::", "user::", "::password", ":", "user:password"],
      sendgrid: ["AAAA", "whsec_AAAA"],
      sns: ["s"],
    };
    for (const provider of Object.keys(providers)) {
      if (provider !== "sns") assert.match(secretIssue(provider, "") ?? "", /is required/, provider);
      for (const secret of short[provider] ?? []) {
        const issue = secretIssue(provider, secret);
        assert.notEqual(issue, undefined, `${provider} ${secret}`);
        if (secret.length > 5) assert.equal(issue?.includes(secret), false, "the secret is repeated");
        if (provider === "sns" || provider === "sendgrid") continue;
        const sample = { secret, body: Buffer.from("{}"), url, now };
        assert.throws(() => signSample(provider, sample), /^Error: the secret must/, `${provider} ${secret}`);
      }
      if (provider !== "sns") assert.equal(secretIssue(provider, secretsOf(provider).verifying), undefined, provider);
    }
    assert.equal(secretIssue("sns", ""), undefined);
    assert.equal(secretIssue("svix", Buffer.alloc(24).toString("base64")), undefined);
  });
});
