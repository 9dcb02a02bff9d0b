/** A login and a logout at a running platform, with an independent identity provider. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { writeInstant } from "../../src/identity/saml/instant.ts";
import { seen } from "../support/login-world.ts";
import { formBody, makeProviderKeys, persistent } from "../support/saml-idp.ts";
import { asRequest, makeSamlifyIdp, samlify } from "../support/samlify.ts";
import { startSamlWorld } from "../support/saml-world.ts";
import type { SamlWorld } from "../support/saml-world.ts";

const html = { accept: "text/html" };
const isTheirs = (url: string): boolean => url.startsWith("https://samlify.example/");

describe("samlify and a route with SAML", () => {
  let world: SamlWorld;
  before(async () => {
    world = await startSamlWorld();
  });
  after(() => world.stop());

  it("samlify and a route with SAML log a visitor in and out, with the metadata that each publishes", async () => {
    const idp = makeSamlifyIdp(await makeProviderKeys());
    const route = await world.samlRoute("/", { idp_metadata: idp.getMetadata() });
    const browser = world.browser();
    const metadata = (await browser.ask(route.entity_id)).text;
    const sp = samlify.ServiceProvider({
      metadata,
      wantMessageSigned: false,
      wantLogoutRequestSigned: true,
      wantLogoutResponseSigned: true,
    });
    const at = (path: string): string => world.origin() + path;

    const sent = await browser.visit(at("/a?b=1"), { stop: isTheirs });
    const location = String(sent.headers.location);
    const parsed = await idp.parseLoginRequest(sp, "redirect", asRequest(location));
    assert.equal(parsed.extract.issuer, route.entity_id);
    const now = Date.now();
    const values = {
      ID: "_response",
      AssertionID: "_assertion",
      IssueInstant: writeInstant(now),
      Until: writeInstant(now + 300_000),
      Destination: route.assertion_consumer_service_url,
      InResponseTo: parsed.extract.request?.id,
      Issuer: "https://samlify.example",
      StatusCode: "urn:oasis:names:tc:SAML:2.0:status:Success",
      NameIDFormat: persistent,
      NameID: "ada",
      Audience: route.entity_id,
    };
    const answer = await idp.createLoginResponse(
      sp,
      parsed,
      "post",
      {},
      {
        customTagReplacement: (template: string) => ({
          id: "_response",
          context: samlify.SamlLib.replaceTagsByValue(template, values),
        }),
      },
    );
    const xml = Buffer.from(answer.context, "base64").toString();
    const relay = new URL(location).searchParams.get("RelayState") ?? "";
    const arrived = await browser.visit(route.assertion_consumer_service_url, {
      method: "POST",
      body: formBody("SAMLResponse", xml, relay),
    });
    assert.equal(arrived.url, at("/a?b=1"), arrived.text);
    assert.equal(seen(arrived)["ngrok-auth-user-id"], "ada");

    const theirs = idp.createLogoutRequest(sp, "redirect", { logoutNameID: "ada", sessionIndex: "s1" }, {});
    const ended = await world.browser().visit(theirs.context, { stop: isTheirs });
    assert.equal(ended.status, 303, ended.text);
    assert.match(String(ended.headers.location), /^https:\/\/samlify\.example\/slo\?SAMLResponse=/);
    assert.equal((await browser.ask(at("/"), { headers: html })).status, 302);
  });
});
