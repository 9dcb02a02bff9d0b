/** SAML logins in a real browser, which decides whether cookies and scripts work as the protocol requires. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import type { Browser, BrowserContext } from "playwright-core";
import { startChromium } from "../support/chromium.ts";
import { skipWithout } from "../support/programs.ts";
import { makeSamlProvider } from "../support/saml-provider.ts";
import type { Asked, SamlProvider, SamlRouteUrls } from "../support/saml-provider.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { startSamlWorld } from "../support/saml-world.ts";
import type { SamlWorld } from "../support/saml-world.ts";

/** Serves the provider at a separate origin, which the browser treats as another site than the visited host. */
async function startProviderSite(provider: SamlProvider, routes: readonly SamlRouteUrls[]): Promise<HttpService> {
  return await startHttpService((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const form = new URLSearchParams(Buffer.concat(pieces).toString());
      const text = [...form].map(([name, value]) => `name="${name}" value="${value}"`).join(" ");
      const location = `http://127.0.0.1${request.url}`;
      const sent = { url: "", status: request.method === "POST" ? 200 : 302, headers: { location }, text };
      const isUnasked = request.url === "/portal";
      const route = routes.find(
        ({ entity_id }) => isUnasked || decodedRequest(sent).includes(entity_id),
      ) as SamlRouteUrls;
      const asked: Asked | undefined = isUnasked ? undefined : provider.read(sent, route);
      const unasked = { said: { responseInResponseTo: undefined, inResponseTo: undefined } };
      const body = new URLSearchParams(provider.answer(asked, route, isUnasked ? unasked : {}));
      const inputs = [...body].map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`);
      response.setHeader("content-type", "text/html");
      response.end(
        `<form method="post" action="${route.assertion_consumer_service_url}">${inputs.join("")}</form>` +
          "<script>document.forms[0].submit()</script>",
      );
    });
  });
}

function decodedRequest({ headers, text }: { headers: { location: string }; text: string }): string {
  const { inflateRawSync } = process.getBuiltinModule("node:zlib");
  const query = new URL(headers.location).searchParams.get("SAMLRequest");
  if (query !== null) return inflateRawSync(Buffer.from(query, "base64")).toString();
  return Buffer.from(/name="SAMLRequest" value="([^"]*)"/.exec(text)?.[1] ?? "", "base64").toString();
}

describe("a real browser and SAML", { skip: skipWithout("chromium") }, () => {
  let chromium: Browser;
  let world: SamlWorld;
  let site: HttpService;
  let context: BrowserContext;
  before(async () => {
    chromium = await startChromium();
    world = await startSamlWorld();
    const provider = await makeSamlProvider();
    const routes: SamlRouteUrls[] = [];
    site = await startProviderSite(provider, routes);
    const sso = `http://127.0.0.1:${site.port}/sso`;
    const redirect = provider.metadata({ redirect: sso, logout: undefined });
    const post = provider.metadata({ redirect: undefined, post: sso, logout: undefined });
    routes.push(await world.samlRoute("/", { idp_metadata: redirect, authorized_groups: [] }));
    routes.push(await world.samlRoute("/posting", { idp_metadata: post }));
    const home = await world.platform.api("PATCH", `/edges/https/${world.edgeId}`, {
      hostports: ["app.localhost:443"],
    });
    assert.equal(home.status, 200);
  });
  after(async () => {
    await chromium?.close();
    await world?.stop();
    await site?.stop();
  });
  beforeEach(async () => {
    context = await chromium.newContext({ ignoreHTTPSErrors: true });
  });
  afterEach(() => context.close());
  const at = (path: string): string => world.origin() + path;

  for (const [binding, path] of [
    ["by redirect", "/a?b=1"],
    ["by a form that sends itself", "/posting/a?b=1"],
  ] as const) {
    it(`a real browser and SAML, sent to the provider ${binding}: it returns with a POST from another site, and is logged in`, async () => {
      const page = await context.newPage();
      const violations: string[] = [];
      page.on("console", (message) => {
        if (/Content Security Policy/.test(message.text())) violations.push(message.text());
      });
      await page.goto(at(path));
      await page.waitForURL(at(path));
      const { headers } = JSON.parse(await page.locator("body").innerText()) as { headers: Record<string, string> };
      assert.equal(headers["ngrok-auth-user-id"], "ada");
      assert.equal(headers["cookie"], undefined);
      assert.deepEqual(violations, []);
      await page.goto(at("/.postern/logout"));
      assert.match(await page.locator("body").innerText(), /You are logged out/);
      assert.deepEqual(
        (await context.cookies(at("/"))).filter(({ name }) => name.includes("session")),
        [],
      );
    });
  }

  it("a real browser and SAML, started at the provider: it is logged in at the only address of the route", async () => {
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${site.port}/portal`);
    await page.waitForURL(at("/"));
    assert.match(await page.locator("body").innerText(), /"ngrok-auth-user-id":"ada"/);
  });
});
