import assert from "node:assert/strict";
import { createSign } from "node:crypto";
import { describe, it } from "node:test";
import { createSelfSigned } from "../lib/certificates/x509.ts";
import { systemClock } from "../lib/clock.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { downloadCertificate, snsScheme } from "./sns.ts";

const now = Date.UTC(2026, 10, 20, 12, 0, 0);
const signer = await createSelfSigned({ names: ["sns.amazonaws.com"], now, days: 10, keyType: "rsa" });
const certificateUrl = "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem";

const notification: Readonly<Record<string, string>> = {
  Type: "Notification",
  MessageId: "m-1",
  TopicArn: "arn:aws:sns:us-east-1:1:t",
  Message: "hello ä\nworld",
  Timestamp: new Date(now - 1000).toISOString(),
  SignatureVersion: "2",
  SigningCertURL: certificateUrl,
};

function signed(fields: Readonly<Record<string, string>>): Record<string, string> {
  const names = ["Message", "MessageId", "Subject", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"];
  const text = names
    .filter((name) => name in fields)
    .map((name) => `${name}\n${fields[name]}\n`)
    .join("");
  const Signature = createSign(fields["SignatureVersion"] === "1" ? "sha1" : "sha256")
    .update(text)
    .sign(signer.keyPem, "base64");
  return { ...fields, Signature };
}

function setUp(fetch: (url: string) => Promise<string> = async () => signer.certificatePem) {
  const fetched: string[] = [];
  const scheme = snsScheme((url) => {
    fetched.push(url);
    return fetch(url);
  });
  const verify = async (body: string | object, at = now) => {
    const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
    return scheme.verify("", { method: "POST", url: "https://h/", headers: { getAll: () => [] }, body: bytes }, at);
  };
  const wouldFetch = (body: object, at = now) =>
    scheme.wouldFetch?.(
      { method: "POST", url: "https://h/", headers: { getAll: () => [] }, body: Buffer.from(JSON.stringify(body)) },
      at,
    );
  return { verify, wouldFetch, fetched };
}

describe("SNS signatures", () => {
  it("I6: SNS signatures are valid for signed messages, in both versions and for each type, with one certificate fetch", async () => {
    const { verify, fetched } = setUp();
    assert.equal(await verify(signed(notification)), undefined);
    assert.equal(await verify(signed({ ...notification, Subject: "s", SignatureVersion: "1" })), undefined);
    const confirmation = {
      ...notification,
      Type: "SubscriptionConfirmation",
      Token: "t",
      SubscribeURL: "https://sns/",
    };
    assert.equal(await verify(signed(confirmation)), undefined);
    assert.deepEqual(fetched, [certificateUrl]);
  });

  it("I6: SNS signatures are invalid for messages that are changed, incomplete or old", async () => {
    const { verify } = setUp();
    const message = signed(notification);
    assert.match((await verify({ ...message, Message: "other" })) ?? "", /signature is another/);
    assert.match((await verify({ ...message, Subject: "added" })) ?? "", /signature is another/);
    assert.match((await verify({ ...message, Type: "Other" })) ?? "", /not an SNS type/);
    assert.match((await verify({ ...message, Message: 5 })) ?? "", /Message is not a string/);
    assert.match((await verify({ ...message, SignatureVersion: "3" })) ?? "", /version is unknown/);
    assert.match((await verify(message, now + 3_700_000)) ?? "", /timestamp is/);
    assert.match((await verify("[]")) ?? "", /not an SNS type/);
    assert.match((await verify("no JSON")) ?? "", /not a JSON object/);
  });

  it("I6: SNS signatures reject a body with a repeated name, whichever value was signed", async () => {
    const json = JSON.stringify(signed(notification));
    const { verify } = setUp();
    assert.match((await verify(`{"Message":"evil",${json.slice(1)}`)) ?? "", /a name twice/);
    assert.match((await verify(`{"\\u004dessage":"evil",${json.slice(1)}`)) ?? "", /a name twice/);
    assert.equal(await verify(`{"Extra":{"Message":"nested","x":["Message"]},${json.slice(1)}`), undefined);
  });

  it("I7: SNS signatures never fetch a certificate from other hosts than SNS", async () => {
    const { verify, fetched } = setUp();
    for (const SigningCertURL of [
      "http://sns.us-east-1.amazonaws.com/SimpleNotificationService-0.pem",
      "https://sns.us-east-1.amazonaws.com.evil.example/SimpleNotificationService-0.pem",
      "https://evil.example/SimpleNotificationService-0.pem",
      "https://sns.us-east-1.amazonaws.com@evil.example/SimpleNotificationService-0.pem",
      "https://sns.us-east-1.amazonaws.com:8443/SimpleNotificationService-0.pem",
      "https://bucket.s3.amazonaws.com/SimpleNotificationService-0.pem",
      "https://sns.us-east-1.amazonaws.com/x/../SimpleNotificationService-0.pem",
      "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0.pem?x",
    ]) {
      assert.match((await verify(signed({ ...notification, SigningCertURL }))) ?? "", /not an SNS URL/, SigningCertURL);
    }
    assert.deepEqual(fetched, []);
  });

  it("SNS signatures are rejected while the certificate is unavailable, and it is fetched again only after a pause", async () => {
    let down = true;
    const { verify, fetched } = setUp(async () => {
      if (down) throw new Error("down");
      return signer.certificatePem;
    });
    const message = signed(notification);
    assert.match((await verify(message)) ?? "", /could not be fetched/);
    down = false;
    assert.match((await verify(message, now + 59_000)) ?? "", /could not be fetched/);
    assert.equal(fetched.length, 1);
    assert.equal(await verify(message, now + 61_000), undefined);
    assert.equal(await verify(message, now + 600_000), undefined);
    assert.equal(fetched.length, 2);
  });

  it("SNS signatures report the certificate that would be fetched without fetching it", async () => {
    let down = true;
    const { verify, wouldFetch, fetched } = setUp(async () => {
      if (down) throw new Error("down");
      return signer.certificatePem;
    });
    const message = signed(notification);
    assert.equal(wouldFetch(message), certificateUrl);
    assert.equal(wouldFetch({ ...message, SigningCertURL: "https://evil.example/x.pem" }), undefined);
    assert.equal(wouldFetch(message, now + 3_700_000), undefined);
    assert.deepEqual(fetched, []);
    await verify(message);
    assert.equal(wouldFetch(message, now + 59_000), undefined);
    assert.equal(wouldFetch(message, now + 61_000), certificateUrl);
    down = false;
    await verify(message, now + 61_000);
    assert.equal(wouldFetch(message, now + 600_000), undefined);
  });

  it("SNS signatures limit concurrent fetches", async () => {
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const { verify, fetched } = setUp(async () => {
      await held;
      return signer.certificatePem;
    });
    const asked = Array.from({ length: 8 }, (_, at) =>
      verify(signed({ ...notification, SigningCertURL: certificateUrl.replace("0123", `000${at}`) })),
    );
    release();
    const results = await Promise.all(asked);
    assert.equal(fetched.length, 4);
    assert.equal(results.filter((wrong) => wrong === undefined).length, 4);
  });

  it("SNS signatures reject a certificate that is not valid now", async () => {
    const { verify } = setUp();
    const later = now + 20 * 86_400_000;
    const message = signed({ ...notification, Timestamp: new Date(later).toISOString() });
    assert.match((await verify(message, later)) ?? "", /not valid now/);
  });
});

describe("the download of a signing certificate", () => {
  it("I7: the download of a signing certificate accepts status 200 only, without redirects", async () => {
    const answering = (status: number): Outbound => ({
      clock: systemClock,
      send: () => Promise.resolve({ status, headers: {}, body: Buffer.from("pem"), text: "pem", address: "192.0.2.1" }),
      close: () => {},
    });
    assert.equal(await downloadCertificate(certificateUrl, answering(200)), "pem");
    await assert.rejects(downloadCertificate(certificateUrl, answering(302)), /the answer is 302/);
    await assert.rejects(downloadCertificate(certificateUrl, answering(500)), /the answer is 500/);
  });
});
