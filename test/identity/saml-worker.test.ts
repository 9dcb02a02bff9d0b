/** Runs a login and its logout through the worker, as the edge does. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startIdentityWorker } from "../../src/identity/worker/worker-client.ts";
import { makeLog } from "../../src/lib/log.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { derOf, formBody, makeProviderKeys, metadataXml, persistent } from "../support/saml-idp.ts";
import {
  acsUrl,
  entityId,
  flowId,
  freshHost,
  honest,
  inputFor,
  now,
  relayKey,
  routeId,
  signedResponse,
  sloUrl,
  told,
} from "../support/saml-login.ts";

describe("the identity worker", () => {
  it("the identity worker performs a login and a logout, and requests the facts that only the caller knows", async () => {
    const provider = await makeProviderKeys();
    const own = await makeProviderKeys();
    const log = makeLog({ level: "error", format: "text", now: Date.now, monotonic: () => 0, write: assert.fail });
    const worker = startIdentityWorker({ clock: systemClock, log });
    try {
      const text = metadataXml({
        certificates: [derOf(provider.certificatePem)],
        redirect: "https://idp.example/sso",
        logout: "https://idp.example/slo",
      });
      const read = await worker.call("saml.readIdpMetadata", { text, nowMs: now });
      assert.ok("metadata" in read);
      const idp = read.metadata;
      const flow = {
        routeId,
        entityId,
        idp,
        signingKeyPem: own.keyPem,
        flowId,
        host: "abc123",
        relayKey: relayKey.toString("base64"),
        nowMs: now,
      };
      const outgoing = await worker.call("saml.makeAuthnRequest", {
        ...flow,
        acsUrl,
        nameIdFormat: persistent,
        forceAuthn: true,
      });
      const relay = new URL(outgoing.url).searchParams.get("RelayState") ?? "";
      const xml = signedResponse(honest(), ["Assertion"], { key: provider.keyPem });
      const host = freshHost();
      const input = inputFor(idp, formBody("SAMLResponse", xml, relay), { forceAuthn: true });
      const outcome = await worker.call("saml.verifyResponse", input, { host });
      assert.equal(told(outcome), "in: ada");
      assert.equal(told(await worker.call("saml.verifyResponse", input, { host })), "replay 5305");
      assert.ok("identity" in outcome);
      const logout = await worker.call("saml.makeLogoutRequest", {
        ...flow,
        name: outcome.identity,
        sessionIndex: "session-1",
      });
      assert.ok(logout?.url.startsWith("https://idp.example/slo?SAMLRequest="));
      const answer = await worker.call("saml.makeLogoutResponse", { ...flow, inResponseTo: "_1" });
      assert.ok(answer?.url.startsWith("https://idp.example/slo?SAMLResponse="));
      const refused = await worker.call(
        "saml.verifyLogout",
        {
          ...flow,
          delivery: { binding: "redirect", query: "" },
          sloUrl,
          nameIdFormat: persistent,
          relayKeys: [],
          skewMs: 0,
        },
        { host },
      );
      assert.equal("refused" in refused && refused.refused.code, errorCode("saml_logout_message"));
      const { signingKeyPem, ...provided } = { ...flow, acsUrl, sloUrl, nameIdFormat: persistent };
      assert.ok(signingKeyPem);
      const { body } = await worker.call("saml.writeSpMetadata", {
        ...provided,
        signingCertificates: [own.certificatePem],
      });
      assert.ok(body.includes(entityId));
    } finally {
      await worker.stop();
    }
  });
});
