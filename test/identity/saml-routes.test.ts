import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { codeOf, seen, startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import { makeSamlProvider } from "../support/saml-provider.ts";
import type { SamlProvider, SamlRouteUrls } from "../support/saml-provider.ts";

const html = { accept: "text/html" };

for (const http of ["h1", "h2"] as const) {
  describe(`a route with SAML, over ${http}`, () => {
    let world: LoginWorld;
    let provider: SamlProvider;
    let route: SamlRouteUrls;
    before(async () => {
      world = await startLoginWorld();
      provider = await makeSamlProvider();
      route = await samlRoute("/", {});
    });
    after(() => world.stop());
    const at = (path: string): string => world.origin() + path;
    const samlRoute = async (match: string, saml: object): Promise<SamlRouteUrls> => {
      const id = await world.route(match, { saml: { idp_metadata: provider.metadata(), ...saml } });
      return (await world.platform.api("GET", `/edges/https/${world.edgeId}/routes/${id}/saml`)).body;
    };

    it("lets a visitor in who comes back with an answer of the provider, and tells the service who it is", async () => {
      const browser = world.browser(http);
      const arrived = await provider.signIn(browser, at("/a?b=1"), route);
      assert.equal(arrived.url, at("/a?b=1"), `${codeOf(arrived)} ${arrived.text}`);
      assert.equal(arrived.status, 200, arrived.text);
      const headers = seen(arrived);
      assert.equal(headers["ngrok-auth-user-id"], "ada");
      assert.equal(headers["ngrok-auth-user-email"], "ada@example.com");
      assert.equal(headers["ngrok-auth-user-name"], "Ada L%C3%B6we");
      assert.equal(headers["cookie"], undefined);
      assert.equal((await browser.ask(at("/"), { headers: html })).status, 200);
    });
  });
}
