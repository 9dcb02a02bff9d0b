/** Expensive messages to a running platform are rejected, and traffic continues in the meantime. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { formBody } from "../support/saml-idp.ts";
import { startSamlWorld } from "../support/saml-world.ts";
import type { SamlWorld } from "../support/saml-world.ts";

const entities = Array.from({ length: 20 }, (_, at) => `<!ENTITY e${at + 1} "${`&e${at};`.repeat(10)}">`).join("");
const response = 'xmlns="urn:oasis:names:tc:SAML:2.0:protocol" ID="a" Version="2.0"';
const kib = 1024;
const costly: Readonly<Record<string, string>> = {
  "entities of entities": `<!DOCTYPE a [<!ENTITY e0 "x">${entities}]><a>&e20;</a>`,
  "an external entity": '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
  "deep nesting": "<a>".repeat(80 * kib),
  "many elements": `<a>${"<b/>".repeat(60 * kib)}</a>`,
  "many attributes": `<a ${Array.from({ length: 20_000 }, (_, at) => `b${at}=""`).join(" ")}/>`,
  "one long attribute": `<a b="${"&amp;".repeat(50 * kib)}"/>`,
  "many namespaces": `<Response ${response} ${Array.from({ length: 5_000 }, (_, at) => `xmlns:n${at}="u${at}"`).join(" ")}/>`,
  "many signatures": `<Response ${response}>${'<Signature xmlns="http://www.w3.org/2000/09/xmldsig#"/>'.repeat(1_900)}</Response>`,
  "an end that never comes": `<Response ${response}>${" ".repeat(250 * kib)}`,
  "too much of it": "x".repeat(300 * kib),
};

let world: SamlWorld;
let acs: string;
before(async () => {
  world = await startSamlWorld();
  ({ assertion_consumer_service_url: acs } = await world.samlRoute("/"));
  await world.route("/pub", {});
});
after(() => world.stop());

for (const http of ["h1", "h2"] as const) {
  describe(`a flood of messages of SAML, over ${http}`, () => {
    it("I4: a flood of messages of SAML is rejected one by one, while other requests are served", async () => {
      const done = { served: 0, flood: false };
      const post = async ([what, xml]: readonly [string, string]): Promise<void> => {
        do {
          const answer = await world.browser(http).ask(acs, { method: "POST", body: formBody("SAMLResponse", xml) });
          assert.equal(answer.headers["postern-error-code"], errorCode("saml_assertion"), what);
        } while (done.served === 0);
      };
      const flood = Promise.all([1, 2, 3].flatMap(() => Object.entries(costly)).map(post)).finally(() => {
        done.flood = true;
      });
      while (!done.flood) {
        const answer = await world.browser(http).ask(`${world.origin()}/pub`);
        assert.equal(answer.status, 200);
        done.served += 1;
      }
      await flood;
    });
  });
}
