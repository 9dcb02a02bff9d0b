/** Single logout, started by Postern or by the provider, with both bindings. */
import assert from "node:assert/strict";
import { createSign } from "node:crypto";
import { describe, it } from "node:test";
import { deflateRawSync } from "node:zlib";
import { makeLogoutRequest, makeLogoutResponse } from "../../src/identity/saml/logout/make-logout.ts";
import { verifyLogout } from "../../src/identity/saml/logout/verify-logout.ts";
import type { LogoutInput, LogoutOutcome } from "../../src/identity/saml/logout/verify-logout.ts";
import type { IdpMetadata } from "../../src/identity/saml/metadata/idp-metadata.ts";
import { makeRelay, requestIdOf } from "../../src/identity/saml/requests/relay.ts";
import type { Delivery } from "../../src/identity/saml/transport/incoming.ts";
import type { Outgoing } from "../../src/identity/saml/transport/outgoing-message.ts";
import { algorithms, formBody, idpEntityId, makeProviderKeys, persistent, signXml } from "../support/saml-idp.ts";
import {
  entityId,
  flowId,
  freshHost,
  metadataOf,
  minute,
  now,
  relayKey,
  routeId,
  sloUrl,
} from "../support/saml-login.ts";

const keys = await makeProviderKeys();
const attacker = await makeProviderKeys();
const own = await makeProviderKeys();
const idp = metadataOf(keys);
const byPost: IdpMetadata = {
  ...idp,
  signOut: { post: { location: "https://idp.example/post", responseLocation: "https://idp.example/done" } },
};
/** The route as a provider sees it, for reading our messages. */
const us = { ...metadataOf(own), entityId };

const iso = (ms: number): string => new Date(ms).toISOString();
const spaces = 'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"';

interface Said {
  readonly version?: string;
  readonly destination?: string;
  readonly issuer?: string;
  readonly issued?: number;
  readonly id?: string;
  readonly attributes?: string;
  readonly body?: string;
  readonly root?: string;
}

const nameId = `<saml:NameID Format="${persistent}">ada</saml:NameID>`;

function message(root: string, said: Said, body: string): string {
  const name = said.root ?? root;
  return `<samlp:${name} ${spaces} ID="${said.id ?? "_logout-1"}" Version="${said.version ?? "2.0"}" IssueInstant="${iso(
    said.issued ?? now,
  )}" Destination="${said.destination ?? sloUrl}"${said.attributes ?? ""}><saml:Issuer>${said.issuer ?? idpEntityId}</saml:Issuer>${
    said.body ?? body
  }</samlp:${name}>`;
}

const logoutRequest = (said: Said = {}): string => message("LogoutRequest", said, nameId);
const success = '<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>';
const requestId = requestIdOf({ flowId, host: "abc123" }, { purpose: "logout", routeId }, relayKey);
const relayState = (sentMs = now): string =>
  makeRelay({ flowId, host: "abc123", sentMs }, { purpose: "logout", routeId }, relayKey);
const logoutResponse = (said: Said = {}): string =>
  message("LogoutResponse", { attributes: ` InResponseTo="${requestId}"`, ...said }, success);

type Field = "SAMLRequest" | "SAMLResponse";
const fieldOf = (xml: string): Field => (xml.startsWith("<samlp:LogoutResponse") ? "SAMLResponse" : "SAMLRequest");

/** Delivery by POST, with the signature inside. */
function posted(xml: string, relay?: string, key = keys.keyPem): Delivery {
  const root = /^<samlp:(\w+)/.exec(xml)?.[1] ?? "";
  return { binding: "post", form: formBody(fieldOf(xml), signXml(xml, root, { key }), relay) };
}

interface QuerySigning {
  readonly key?: string;
  readonly algorithm?: string;
  readonly hash?: string;
}

/** Delivery by redirect, with a signed query. */
function redirected(xml: string, relay?: string, signing: QuerySigning = {}): Delivery {
  const { key = keys.keyPem, algorithm = algorithms.rsaSha256, hash = "sha256" } = signing;
  let query = `${fieldOf(xml)}=${encodeURIComponent(deflateRawSync(xml).toString("base64"))}`;
  if (relay !== undefined) query += `&RelayState=${encodeURIComponent(relay)}`;
  query += `&SigAlg=${encodeURIComponent(algorithm)}`;
  const signature = createSign(hash).update(query).sign(key, "base64");
  return { binding: "redirect", query: `${query}&Signature=${encodeURIComponent(signature)}` };
}

const inputOf = (delivery: Delivery, change: Partial<LogoutInput> = {}): LogoutInput => ({
  delivery,
  routeId,
  entityId,
  sloUrl,
  nameIdFormat: persistent,
  idp,
  relayKeys: [relayKey.toString("base64")],
  nowMs: now,
  skewMs: minute,
  ...change,
});
const come = (delivery: Delivery, change: Partial<LogoutInput> = {}): Promise<LogoutOutcome> =>
  verifyLogout(inputOf(delivery, change), freshHost().claim);
const codeOf = (outcome: LogoutOutcome): string => ("refused" in outcome ? outcome.refused.code.slice(-4) : "taken");

const ways = [
  ["POST", posted],
  ["redirect", redirected],
] as const;

for (const [way, send] of ways) {
  describe(`a logout that the provider starts by ${way}`, () => {
    it(`a logout that the provider starts by ${way} names the sessions to end, and requires a response with its RelayState`, async () => {
      assert.deepEqual(await come(send(logoutRequest(), "r&1")), {
        request: {
          id: "_logout-1",
          name: { nameId: "ada", format: persistent },
          sessionIndexes: [],
          relayState: "r&1",
        },
      });
      const body = `${nameId}<samlp:SessionIndex>1</samlp:SessionIndex><samlp:SessionIndex>2</samlp:SessionIndex>`;
      const outcome = await come(send(logoutRequest({ body, attributes: ` NotOnOrAfter="${iso(now)}"` })));
      assert.deepEqual("request" in outcome && outcome.request.sessionIndexes, ["1", "2"]);
    });

    const wrong: Readonly<Record<string, Said>> = {
      "of version 1.1": { version: "1.1" },
      "for another address": { destination: `${sloUrl}/` },
      "of another issuer": { issuer: "https://evil.example" },
      "issued long ago": { issued: now - 6 * minute },
      "issued ahead": { issued: now + 6 * minute },
      "that has expired": { attributes: ` NotOnOrAfter="${iso(now - 2 * minute)}"` },
      "with an invalid expiry": { attributes: ' NotOnOrAfter="soon"' },
      "without a name": { body: "" },
      "with two names": { body: nameId + nameId },
      "with an encrypted name": { body: "<saml:EncryptedID/>" },
      "with a name of another format": { body: "<saml:NameID>ada</saml:NameID>" },
      "with an unknown element": { body: `${nameId}<samlp:Odd/>` },
      "with a comment": { body: nameId.replace("ada", "ada<!---->.evil") },
      "with 101 indexes": { body: nameId + "<samlp:SessionIndex>i</samlp:SessionIndex>".repeat(101) },
      "with an ID of 257 characters": { id: `_${"i".repeat(256)}` },
      "of another message type": { root: "ManageNameIDRequest" },
      "that is named a response": { root: "LogoutResponse" },
    };
    for (const [name, said] of Object.entries(wrong)) {
      it(`I4: a logout that the provider starts by ${way} is rejected ${name}`, async () => {
        assert.equal(codeOf(await come(send(logoutRequest(said)))), "5308");
      });
    }

    it(`I4: a logout that the provider starts by ${way} has a RelayState of at most 2,048 characters`, async () => {
      assert.ok("request" in (await come(send(logoutRequest(), "r".repeat(2048)))));
      assert.equal(codeOf(await come(send(logoutRequest({ id: "_long" }), "r".repeat(2049)))), "5308");
    });

    it(`I4: a logout that the provider starts by ${way} is accepted once, and rejected if that cannot be checked`, async () => {
      const input = inputOf(send(logoutRequest()));
      const { claim } = freshHost();
      assert.equal(codeOf(await verifyLogout(input, claim)), "taken");
      assert.equal(codeOf(await verifyLogout(input, claim)), "5308");
      assert.equal(codeOf(await verifyLogout(input, () => Promise.resolve("unknown"))), "5308");
    });
  });

  describe(`the response to a logout of ours by ${way}`, () => {
    it(`the response to a logout of ours by ${way} reports whether the provider has ended all sessions`, async () => {
      const response = (ended: string) => ({ response: { flowId, host: "abc123", ended } });
      assert.deepEqual(await come(send(logoutResponse(), relayState())), response("all"));
      const nested = success.replace(
        "/>",
        '><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:PartialLogout"/></samlp:StatusCode>',
      );
      assert.deepEqual(await come(send(logoutResponse({ body: nested }), relayState())), response("some"));
      const failed = success.replace("Success", "Responder");
      assert.deepEqual(await come(send(logoutResponse({ body: failed }), relayState())), response("none"));
    });

    it(`I4: the response to a logout of ours by ${way} is rejected for another request, with another RelayState, or late`, async () => {
      const sent = async (said: Said, relay: string | undefined) =>
        codeOf(await come(send(logoutResponse(said), relay)));
      assert.equal(await sent({}, relayState(now - 15 * minute)), "taken");
      assert.equal(await sent({}, relayState(now - 16 * minute)), "5314");
      assert.equal(await sent({}, relayState(now + 2 * minute)), "5308");
      assert.equal(await sent({}, undefined), "5308");
      assert.equal(await sent({}, `${relayState()}x`), "5308");
      const ofLogin = makeRelay({ flowId, host: "abc123", sentMs: now }, { purpose: "login", routeId }, relayKey);
      assert.equal(await sent({}, ofLogin), "5308");
      assert.equal(await sent({ attributes: ' InResponseTo="_other"' }, relayState()), "5308");
      assert.equal(await sent({ attributes: "" }, relayState()), "5308");
      assert.equal(await sent({ destination: "https://other.example" }, relayState()), "5308");
      assert.equal(await sent({ issuer: "https://evil.example" }, relayState()), "5308");
      assert.equal(await sent({ body: "" }, relayState()), "5308");
    });
  });
}

describe("a logout message", () => {
  it("I4: a logout message is rejected if it is unsigned, or signed by another key or in another way", async () => {
    const xml = logoutRequest();
    const weak = { algorithm: algorithms.rsaSha1, hash: "sha1" };
    const deliveries: Delivery[] = [
      { binding: "post", form: formBody("SAMLRequest", xml) },
      { binding: "redirect", query: `SAMLRequest=${encodeURIComponent(deflateRawSync(xml).toString("base64"))}` },
      posted(xml, undefined, attacker.keyPem),
      redirected(xml, undefined, { key: attacker.keyPem }),
      redirected(xml, undefined, weak),
      redirected(xml, undefined, { algorithm: algorithms.rsaSha512 }),
      redirected(xml, undefined, { algorithm: algorithms.hmacSha1 }),
      redirected(xml, undefined, { algorithm: "" }),
      redirected(signXml(xml, "LogoutRequest", { key: keys.keyPem })),
    ];
    for (const delivery of deliveries) assert.equal(codeOf(await come(delivery)), "5308");
  });

  it("I4: a logout message is rejected if it contains a message signed by the provider, or two signatures", async () => {
    const genuine = signXml(logoutRequest({ id: "_genuine" }), "LogoutRequest", { key: keys.keyPem });
    const inside = `<samlp:Extensions>${genuine.slice(genuine.indexOf("<samlp:"))}</samlp:Extensions>`;
    const around = logoutRequest({ id: "_forged" }).replace("</saml:Issuer>", `</saml:Issuer>${inside}`);
    assert.equal(codeOf(await come({ binding: "post", form: formBody("SAMLRequest", around) })), "5308", "wrapped");
    assert.equal(codeOf(await come(posted(around))), "5308", "wrapped, and signed as well");
    assert.equal(codeOf(await come({ binding: "post", form: formBody("SAMLRequest", genuine) })), "taken");
  });

  it("I4: a logout message is rejected if any part signed in its query is changed or doubled", async () => {
    const sent = redirected(logoutRequest(), "relay");
    assert.ok(sent.binding === "redirect");
    const { query } = sent;
    assert.equal(codeOf(await come(sent)), "taken");
    assert.equal(
      codeOf(
        await come({
          ...sent,
          query: `a=b&${query}&SAMLEncoding=${encodeURIComponent("urn:oasis:names:tc:SAML:2.0:bindings:URL-Encoding:DEFLATE")}`,
        }),
      ),
      "taken",
    );
    const fields = query.split("&");
    for (const changed of [
      query.replace("RelayState=relay", "RelayState=other"),
      query.replace("RelayState=relay", "RelayState=rela%79"),
      query.replace("&RelayState=relay", ""),
      query.replace("SAMLRequest", "SAMLResponse"),
      query.replace("rsa-sha256", "rsa-sha512"),
      `${query}&RelayState=relay`,
      `${query}&Relay%53tate=relay`,
      `${query}&SAMLRequest=${query.slice(12, 20)}`,
      `${query}&SAMLResponse=a`,
      `${query}&SAMLEncoding=other`,
      ...fields.map((one) => `${query}&${one}`),
      ...fields.map((one) => fields.filter((other) => other !== one).join("&")),
      `${query}${"&a".repeat(100)}`,
      `${query}&a=${"a".repeat(65_536)}`,
      "",
    ]) {
      assert.equal(codeOf(await come({ ...sent, query: changed })), "5308", changed.slice(0, 200));
    }
  });

  it("I4: a logout message is not inflated beyond 256 KiB", async () => {
    const bomb = logoutRequest({ attributes: ` a="${" ".repeat(1_000_000)}"` });
    assert.equal(codeOf(await come(redirected(bomb))), "5308");
    const outcome = await come(redirected(bomb));
    assert.match("refused" in outcome ? outcome.refused.reason : "", /inflated/);
  });

  it("a logout message of ours is readable by the other side, request and response, with both bindings", async () => {
    for (const metadata of [idp, byPost]) {
      const flow = { routeId, entityId, idp: metadata, signingKeyPem: own.keyPem, nowMs: now };
      const name = { nameId: "ada", format: persistent, nameQualifier: idpEntityId, spNameQualifier: entityId };
      const request = makeLogoutRequest({
        ...flow,
        flowId,
        host: "abc123",
        relayKey: relayKey.toString("base64"),
        name,
        sessionIndex: "session-1",
      });
      const to = metadata.signOut.redirect?.location ?? metadata.signOut.post?.location ?? "";
      const theirs = { idp: us, entityId, sloUrl: to };
      assert.deepEqual(await come(deliveryOf(request, to), theirs), {
        request: { id: requestId, name, sessionIndexes: ["session-1"], relayState: relayState() },
      });
      const back = metadata.signOut.redirect?.responseLocation ?? metadata.signOut.post?.responseLocation ?? "";
      const answer = makeLogoutResponse({ ...flow, inResponseTo: requestId, relayState: relayState() });
      assert.deepEqual(await come(deliveryOf(answer, back), { ...theirs, sloUrl: back }), {
        response: { flowId, host: "abc123", ended: "all" },
      });
    }
  });

  it("a logout message is not created for a provider without logout", () => {
    const flow = { routeId, entityId, idp: { ...idp, signOut: {} }, signingKeyPem: own.keyPem, nowMs: now };
    assert.equal(makeLogoutResponse({ ...flow, inResponseTo: "_1" }), undefined);
  });
});

function deliveryOf(outgoing: Outgoing | undefined, to: string): Delivery {
  if (!outgoing?.url.startsWith(to)) throw new Error("nothing was sent there");
  if (outgoing.binding === "redirect") return { binding: "redirect", query: outgoing.url.slice(to.length + 1) };
  return { binding: "post", form: new URLSearchParams(outgoing.fields as Record<string, string>).toString() };
}
