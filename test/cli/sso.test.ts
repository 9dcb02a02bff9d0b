/** `postern dev --sso dev`, used by a person in a browser. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { request } from "../../src/lib/http.ts";
import { startChromium } from "../support/chromium.ts";
import { skipWithout } from "../support/programs.ts";
import { freePorts, startCommand } from "../support/command.ts";
import { runSharedCommand } from "../support/shared-command.ts";

interface Facts {
  readonly url: string;
  readonly sso_url: string;
  readonly https_port: number;
  readonly api_url: string;
  readonly api_key: string;
  readonly sso_client_id: string;
  readonly sso_client_secret: string;
}

for (const kind of ["oidc", "saml"] as const) {
  describe(`postern dev --sso dev=${kind}`, { skip: skipWithout("chromium") }, () => {
    const directory = mkdtempSync(join(tmpdir(), "postern-sso-"));
    let chromium: Browser;
    let dev: ReturnType<typeof startCommand>;
    let facts: Facts;
    let context: BrowserContext;
    let page: Page;
    before(async () => {
      chromium = await startChromium();
      dev = startCommand(["dev", "--sso", `dev=${kind}`, "--json", "--data", directory], { env: freePorts });
      facts = JSON.parse(await dev.firstLine()) as Facts;
    });
    after(async () => {
      await chromium.close();
      assert.equal((await dev.end("SIGINT")).code, 130);
      rmSync(directory, { recursive: true });
    });
    beforeEach(async () => {
      context = await chromium.newContext({ ignoreHTTPSErrors: true });
      page = await context.newPage();
    });
    afterEach(() => context.close());
    const createEndpoint = (body: object): Promise<void> =>
      new Promise((resolve, reject) => {
        const headers = {
          authorization: `Bearer ${facts.api_key}`,
          "ngrok-version": "2",
          "content-type": "application/json",
        };
        const sent = request(`${facts.api_url}/endpoints`, { method: "POST", headers }, (response) => {
          response.resume();
          if (response.statusCode === 201) resolve();
          else reject(new Error(`create an endpoint: answered ${response.statusCode}`));
        });
        sent.on("error", reject);
        sent.end(JSON.stringify(body));
      });
    const text = (): Promise<string> => page.locator("body").innerText();
    const click = async (name: RegExp, url: string | RegExp): Promise<void> => {
      await page.getByRole("button", { name }).click();
      await page.waitForURL(url);
    };
    const logIn = async (name: RegExp, path = "/a?b=1"): Promise<void> => {
      await page.goto(facts.url + path);
      await click(name, facts.url + path);
    };

    it(`postern dev --sso dev=${kind} sends the service the identity of the clicked name`, async () => {
      await logIn(/Ada/);
      const shown = await text();
      assert.match(shown, /ngrok-auth-user-email: ada@example\.com/i);
      assert.match(shown, /ngrok-auth-user-name: Ada Lovelace/i);
      assert.match(shown, /ngrok-auth-user-id: ada/i);
    });

    it(`postern dev --sso dev=${kind} forwards names that are not ASCII, and people who are not listed`, async () => {
      await logIn(/Björk/);
      assert.match(await text(), /ngrok-auth-user-name: Bj%C3%B6rk Gu%C3%B0mundsd%C3%B3ttir/i);
      const other = await (await chromium.newContext({ ignoreHTTPSErrors: true })).newPage();
      await other.goto(facts.url);
      await other.getByText("Another person").click();
      await other.getByLabel("Id").fill("zoe");
      await other.getByLabel("E-mail").first().fill("zoe@example.net");
      await other.getByRole("button", { name: "Log in" }).click();
      await other.waitForURL(`${facts.url}/`);
      assert.match(await other.locator("body").innerText(), /ngrok-auth-user-id: zoe/i);
      await other.context().close();
    });

    it(`postern dev --sso dev=${kind} demonstrates a denied and a failed login`, async () => {
      for (const name of [/Deny/, /Fail/]) {
        await page.goto(facts.url);
        await page.getByRole("button", { name }).click();
        await page.waitForURL((url) => url.href.startsWith("https:"));
        assert.match(await text(), /ERR_POSTERN_\d+/);
      }
    });

    it(`postern dev --sso dev=${kind} remembers the logged-in person, and a logout there also ends the service's session`, async () => {
      await logIn(/Ada/, "/");
      await page.goto(facts.sso_url);
      assert.match(await text(), /You are Ada Lovelace/);
      await click(/Log out everywhere/, `${facts.sso_url}/`);
      assert.match(await text(), /No one is logged in/);
      await page.goto(facts.url);
      assert.match(page.url(), new RegExp(`^${facts.sso_url}`), "the session has expired with it");
    });

    it(`postern dev --sso dev=${kind} ends its session after a logout at the service`, async () => {
      await logIn(/Ada/, "/");
      await page.goto(`${facts.url}/.postern/logout`);
      await page.waitForURL((url) => !url.href.startsWith(facts.sso_url));
      await page.goto(facts.sso_url);
      assert.match(await text(), /No one is logged in/);
    });

    if (kind === "oidc") {
      it(`postern dev --sso dev=${kind} signs with a new key on request`, async () => {
        await page.goto(facts.sso_url);
        await click(/new key/, `${facts.sso_url}/`);
        await logIn(/Nils/);
        assert.match(await text(), /ngrok-auth-user-id: nils/i);
      });

      it(`postern dev --sso dev=${kind} logs in visitors for a rule of a policy`, async () => {
        const { sso_url: issuer_url, sso_client_id: client_id, sso_client_secret: client_secret } = facts;
        const config = { issuer_url, client_id, client_secret };
        const body = "hello ${actions.ngrok.oidc.identity.name} at ${req.url.path}";
        const rules = [
          { expressions: ["req.url.path != '/open'"], actions: [{ type: "openid-connect", config }] },
          { actions: [{ type: "custom-response", config: { body, headers: { "content-type": "text/plain" } } }] },
        ];
        const url = `https://rules.localhost:${facts.https_port}`;
        await createEndpoint({
          url: "https://rules.localhost",
          type: "cloud",
          traffic_policy: JSON.stringify({ on_http_request: rules }),
        });
        await page.goto(`${url}/open`);
        assert.equal(await text(), "hello  at /open");
        await page.goto(`${url}/private?a=1`);
        await click(/Ada/, `${url}/private?a=1`);
        assert.equal(await text(), "hello Ada Lovelace at /private");
        await page.goto(`${url}/open`);
        assert.equal(await text(), "hello  at /open");
        await page.goto(`${url}/ngrok/logout`);
        await page.goto(`${url}/private`);
        assert.notEqual(await text(), "hello Ada Lovelace at /private");
      });
    } else {
      it(`postern dev --sso dev=${kind} can start a login at the provider`, async () => {
        await logIn(/Ada/, "/");
        await context.clearCookies({ domain: new URL(facts.url).hostname });
        await page.goto(facts.sso_url);
        await page.getByLabel(/URL/).fill(`${facts.url}/begun`);
        await click(/from here/, `${facts.url}/begun`);
        assert.match(await text(), /ngrok-auth-user-id: ada/i);
      });
    }

    it(`I2: postern dev --sso dev=${kind} answers to no other name, redirects to no other site, and accepts no buttons of other sites`, async () => {
      const ask = (path: string, headers: Readonly<Record<string, string>>, method = "GET"): Promise<number> =>
        new Promise((resolve, reject) => {
          const sent = request(`${facts.sso_url}${path}`, { method, headers }, (response) => {
            response.resume();
            resolve(response.statusCode ?? 0);
          });
          sent.on("error", reject);
          sent.end();
        });
      assert.equal(await ask("/", { host: "rebound.example" }), 421);
      const asked = "/authorize?client_id=postern-dev&response_type=code&redirect_uri=";
      const elsewhere = encodeURIComponent("https://evil.example/oauth2/callback");
      assert.equal(await ask(asked + elsewhere, {}), 400);
      for (const path of ["/sign-in", "/sign-out", "/rotate", "/saml/begin"]) {
        assert.equal(await ask(path, { origin: "https://evil.example" }, "POST"), 403, path);
      }
    });
  });
}

describe("postern dev --sso", () => {
  it("postern dev --sso is rejected if other machines could reach it", async () => {
    for (const listener of ["--https-listen", "--agent-listen", "--api-listen", "--http-listen"]) {
      const { code, stderr } = await runSharedCommand(["dev", "--sso", "dev", listener, "0.0.0.0:0"]);
      assert.equal(code, 2, listener);
      assert.match(stderr, /lets visitors choose any identity/);
    }
  });
});
