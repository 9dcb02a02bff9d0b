/** `postern http --sso dev`: a login provider that runs with the agent, for a server on the same machine. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openBrowser } from "../support/browser.ts";
import type { Browser } from "../support/browser.ts";
import { startChromium } from "../support/chromium.ts";
import { skipWithout } from "../support/programs.ts";
import { freePorts, startCommand } from "../support/command.ts";
import type { Running } from "../support/command.ts";
import { runSharedCommand } from "../support/shared-command.ts";
import { freePort } from "../support/connections.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

describe("postern http --sso dev", () => {
  let service: HttpService;
  before(async () => {
    service = await startHttpService(({ headers }, response) =>
      response.end(`for ${String(headers["ngrok-auth-user-email"])}`),
    );
  });
  after(() => service.stop());
  const directoryOfItsOwn = (): string => mkdtempSync(join(tmpdir(), "postern-sso-"));

  for (const [server, more] of [
    ["dev", async () => []],
    ["serve", async () => ["--domain", "localhost", "--login-issuer", `http://127.0.0.1:${await freePort()}`]],
  ] as const) {
    it(
      `postern http --sso dev lets visitors log in, with the server that \`postern ${server}\` started on this machine`,
      {
        skip: skipWithout("chromium"),
      },
      async () => {
        const directory = directoryOfItsOwn();
        const data = ["--data", directory];
        const running = startCommand([server, ...data, "--json", ...(await more())], { env: freePorts });
        await running.firstLine();
        const agent = startCommand(["http", String(service.port), "--sso", "dev", "--json", ...data]);
        const chromium = await startChromium();
        try {
          const { url } = JSON.parse(await agent.firstLine()) as { readonly url: string };
          const page = await (await chromium.newContext({ ignoreHTTPSErrors: true })).newPage();
          await page.goto(`${url}/a?b=1`);
          const provider = new URL(page.url()).origin;
          assert.match(provider, /^http:\/\/127\.0\.0\.1:\d+$/);
          await page.getByRole("button", { name: /Ada/ }).click();
          await page.waitForURL(`${url}/a?b=1`);
          assert.equal(await page.locator("body").innerText(), "for ada@example.com");
          // The provider notifies the server of the logout (back-channel).
          await page.goto(provider);
          await page.getByRole("button", { name: /Log out everywhere/ }).click();
          await page.waitForURL(`${provider}/`);
          await page.goto(url);
          assert.equal(new URL(page.url()).origin, provider, "the session has expired with it");
        } finally {
          await chromium.close();
          await agent.end("SIGINT");
          await running.end("SIGINT");
          rmSync(directory, { recursive: true });
        }
      },
    );
  }

  it("postern http --sso dev lets visitors log in again after restarts of the agent, with the cookies they have", async () => {
    const directory = directoryOfItsOwn();
    const data = ["--data", directory];
    const running = startCommand(["dev", ...data, "--json"], { env: freePorts });
    const browsers: Browser[] = [];
    let agent: Running | undefined;
    try {
      await running.firstLine();
      const ca = readFileSync(join(directory, "ca.pem"), "utf8");
      let at = "";
      for (let round = 0; round < 4; round += 1) {
        const place = at === "" ? [] : ["--url", at];
        agent = startCommand(["http", String(service.port), "--sso", "dev", "--json", ...place, ...data]);
        const { url } = JSON.parse(await agent.firstLine()) as { readonly url: string };
        at = url;
        browsers.push(openBrowser({ ca }));
        // Each browser has the session of another start, or only a login that it began.
        for (const [index, browser] of browsers.entries()) {
          const page = await browser.visit(`${url}/a`);
          const request = /name="request" value="([^"]+)"/.exec(page.text)?.[1];
          if (request === undefined) {
            assert.equal(page.text, "for ada@example.com", `start ${round}, browser ${index}`);
            continue;
          }
          const back = await browser.visit(new URL("/sign-in", page.url).href, {
            method: "POST",
            body: new URLSearchParams({ request, person: "ada" }).toString(),
            headers: { origin: new URL(page.url).origin },
          });
          assert.equal(back.text, "for ada@example.com", `start ${round}, browser ${index}`);
        }
        await agent.end("SIGINT");
        agent = undefined;
      }
    } finally {
      await agent?.end("SIGINT");
      await running.end("SIGINT");
      rmSync(directory, { recursive: true });
    }
  });

  it("postern http --sso dev names the setting for a server that does not call providers on its loopback", async () => {
    const directory = directoryOfItsOwn();
    const running = startCommand(["serve", "--data", directory, "--domain", "localhost", "--json"], { env: freePorts });
    try {
      await running.firstLine();
      const { code, stderr } = await runSharedCommand(["http", "3000", "--sso", "dev", "--data", directory]);
      assert.equal(code, 2);
      assert.match(stderr, /start it with --login-issuer http:\/\/127\.0\.0\.1:4780/);
    } finally {
      await running.end();
      rmSync(directory, { recursive: true });
    }
  });

  it("postern http --sso dev is rejected for a server on another machine, and for labels", async () => {
    const directory = directoryOfItsOwn();
    const env = { POSTERN_AUTHTOKEN: "postern_at_other" };
    const other = ["--server", "t.example.com:4443", "--data", directory];
    const elsewhere = await runSharedCommand(["http", "3000", "--sso", "dev", ...other], { env });
    assert.equal(elsewhere.code, 2);
    assert.match(elsewhere.stderr, /t\.example\.com:4443 is a different server/);
    const labelled = await runSharedCommand(["http", "3000", "--sso", "dev", "--label", "app=web", ...other], { env });
    assert.equal(labelled.code, 2);
    assert.match(labelled.stderr, /--sso and --label exclude each other/);
    rmSync(directory, { recursive: true });
  });

  it("postern dev offers no provider on its loopback if others can reach it", async () => {
    const directory = directoryOfItsOwn();
    const env = { ...freePorts, POSTERN_HTTPS_LISTEN: "0.0.0.0:0" };
    const running = startCommand(["dev", "--data", directory, "--json"], { env });
    try {
      await running.firstLine();
      const { code, stderr } = await runSharedCommand(["http", "3000", "--sso", "dev", "--data", directory]);
      assert.equal(code, 2);
      assert.match(stderr, /does not call providers on its loopback/);
    } finally {
      await running.end("SIGINT");
      rmSync(directory, { recursive: true });
    }
  });
});
