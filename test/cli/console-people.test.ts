/** People of the console in a real browser, with a virtual authenticator: invitation, passkey, roles and sessions. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { createServer } from "../../src/lib/http.ts";
import { startChromium } from "../support/chromium.ts";
import { enterConsole, visitView } from "../support/console.ts";
import { ClientStore } from "../support/mcp-client.ts";
import { assertAccessible, openWatched } from "../support/pages.ts";
import type { WatchedPage } from "../support/pages.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { skipWithout } from "../support/programs.ts";
import { addAuthenticator } from "../support/virtual-authenticator.ts";
import type { VirtualAuthenticator } from "../support/virtual-authenticator.ts";

const phone: BrowserContextOptions = { viewport: { width: 390, height: 800 } };

describe("people at the console", { skip: skipWithout("chromium"), timeout: 240_000 }, () => {
  let platform: TestPlatform;
  let chromium: Browser;
  let admin: WatchedPage;
  let origin: string;
  before(async () => {
    [platform, chromium] = await Promise.all([startPlatform({ drainMs: 50 }), startChromium()]);
    admin = await enterConsole(chromium, platform);
    origin = `http://localhost:${new URL(platform.apiUrl).port}`;
  });
  after(async () => {
    await chromium?.close();
    await platform?.stop();
  });

  const ok = async (method: string, path: string, body?: unknown) => {
    const answer = await platform.api(method, path, body);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
    return answer.body;
  };
  interface Visitor {
    readonly page: Page;
    readonly watched: WatchedPage;
    readonly authenticator: VirtualAuthenticator;
  }
  const visitor = async (options: BrowserContextOptions = {}): Promise<Visitor> => {
    const watched = await openWatched(chromium, origin, options);
    return { page: watched.page, watched, authenticator: await addAuthenticator(watched.page) };
  };
  const join = async (email: string, role: string, options: BrowserContextOptions = {}): Promise<Visitor> => {
    const one = await visitor(options);
    await one.page.goto((await ok("POST", "/person_invitations", { email, role })).url);
    await one.page.getByRole("button", { name: "Create a passkey" }).click();
    await one.page.getByRole("heading", { name: "Overview" }).waitFor();
    return one;
  };

  it("people at the console are invited by keyboard, create a passkey, and log in with it", async () => {
    const { page } = admin;
    await visitView(page, platform, "people");
    await page.keyboard.press("g");
    await page.keyboard.press("u");
    const main = page.getByRole("main");
    await main.getByText("No people yet.").waitFor();
    await assertAccessible(page, "people without people");
    await main.getByRole("link", { name: "Invite a colleague" }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Invite a colleague" });
    await dialog.getByLabel("Email address").focus();
    await page.keyboard.type("ann@example.com");
    await page.keyboard.press("Tab");
    await page.keyboard.press("ArrowDown");
    await assertAccessible(page, "the invitation", "dialog");
    await page.keyboard.press("Enter");
    const link = await dialog.getByText(/#invite=/).innerText();
    assert.ok(link.startsWith(`${origin}/#invite=`), link);
    await assertAccessible(page, "the link", "dialog");
    await dialog.getByRole("button", { name: "Done" }).click();
    const open = main.getByRole("region", { name: "Open invitations" });
    await open.getByText("ann@example.com").waitFor();

    const ann = await visitor(phone);
    await ann.page.goto(link);
    await ann.page.getByRole("heading", { name: "You are invited to default" }).waitFor();
    await ann.page.getByText("editor").first().waitFor();
    for (const colorScheme of ["light", "dark"] as const) {
      await ann.page.emulateMedia({ colorScheme });
      await assertAccessible(ann.page, `the accept page, ${colorScheme}`);
    }
    await ann.authenticator.confirm(false);
    await ann.page.getByRole("button", { name: "Create a passkey" }).click();
    await ann.page.getByRole("alert").getByText("did not create a passkey").waitFor();
    await ann.authenticator.confirm(true);
    await ann.page.getByLabel("Your name").fill("Ann \u202EExample");
    await ann.page.getByRole("button", { name: "Create a passkey" }).click();
    await ann.page.getByRole("heading", { name: "Overview" }).waitFor();
    assert.equal(new URL(ann.page.url()).hash.includes("invite"), false);
    assert.equal(await ann.authenticator.count(), 1);

    await ann.page.getByRole("button", { name: "Menu" }).click();
    await ann.page.getByRole("button", { name: "Log out" }).click();
    const logIn = ann.page.getByRole("button", { name: "Log in with a passkey" });
    await ann.page.getByText("You are logged out.").waitFor();
    await logIn.waitFor();
    await assertAccessible(ann.page, "the login with a passkey");
    await ann.authenticator.confirm(false);
    await logIn.click();
    await ann.page.getByText("did not use a passkey").waitFor();
    await ann.authenticator.confirm(true);
    await logIn.click();
    await ann.page.getByRole("heading", { name: "Overview" }).waitFor();
    ann.watched.assertQuiet();

    await main.getByRole("region", { name: "People", exact: true }).getByText("ann@example.com").waitFor();
    await main.getByRole("region", { name: "Sessions" }).getByText("ann@example.com").waitFor();
    await assertAccessible(page, "people");
    const again = await visitor();
    await again.page.goto(link);
    await again.page.getByRole("alert").getByText("already used").waitFor();
    await assertAccessible(again.page, "a used link");
    await again.page.getByRole("button", { name: "To the login" }).click();
    await again.page.getByLabel("API key").waitFor();
    again.watched.assertQuiet();
    admin.assertQuiet();
  });

  it("people at the console lose access while their page is open, and cannot raise their role", async () => {
    const { page } = admin;
    const ben = await join("ben@example.com", "viewer");
    await ben.page.goto(`${origin}/#/people`);
    await ben.page.getByRole("heading", { name: "People", level: 1 }).waitFor();
    await ben.page.getByRole("region", { name: "Sessions" }).getByText("this session").waitFor();
    assert.equal(await ben.page.getByRole("link", { name: "Invite a colleague" }).count(), 0);
    assert.equal(await ben.page.getByRole("button", { name: /^Manage/ }).count(), 0);

    await visitView(page, platform, "people");
    await page.getByRole("button", { name: "Manage ben@example.com" }).click();
    const dialog = page.getByRole("dialog", { name: "ben@example.com" });
    await dialog.getByLabel("Role").selectOption("editor");
    await assertAccessible(page, "a person", "dialog");
    await dialog.getByRole("button", { name: "Apply" }).click();
    await dialog.waitFor({ state: "detached" });
    await ben.page.reload();
    await ben.page.getByRole("link", { name: "Invite a colleague" }).waitFor();

    await page.getByRole("button", { name: "End the session of ben@example.com" }).click();
    await ben.page.getByText("Your session has expired.").waitFor();
    await ben.page.getByRole("button", { name: "Log in with a passkey" }).click();
    await ben.page.getByRole("heading", { level: 1 }).first().waitFor();
    await page.getByRole("button", { name: "Manage ben@example.com" }).click();
    await dialog.getByRole("button", { name: "Remove …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByText("ben@example.com").first().waitFor({ state: "detached" });
    await ben.page.getByText("Your session has expired.").waitFor();
    await ben.page.getByRole("button", { name: "Log in with a passkey" }).click();
    await ben.page.getByRole("alert").getByText("does not know it").waitFor();
    ben.watched.assertQuiet();
  });

  it("people at the console see their changes under their name in the history", async () => {
    const { page } = admin;
    const cat = await join("cat@example.com", "editor");
    const response = await cat.page.evaluate(`(async () => {
      const own = await (await fetch("/console/session")).json();
      return (await fetch("/ip_policies", {
        method: "POST",
        headers: { "content-type": "application/json", "postern-console-token": own.page_token, "ngrok-version": "2" },
        body: JSON.stringify({ description: "by cat" }),
      })).status;
    })()`);
    assert.equal(response, 201);
    await visitView(page, platform, "history");
    const rows = page.locator("ol.revisions > li");
    await rows.filter({ hasText: "by cat" }).filter({ hasText: "cat@example.com" }).first().waitFor();
    await rows.filter({ hasText: "cat@example.com joined" }).first().waitFor();
    await rows.filter({ hasText: "Invited cat@example.com" }).first().waitFor();
  });

  it("people at the console who open it at an address are led to the name at which passkeys work", async () => {
    const { page, watched } = await visitor();
    await join("dan@example.com", "viewer");
    await page.goto(`${platform.apiUrl}/`);
    const link = page.getByRole("link", { name: /^Log in with a passkey at localhost/ });
    assert.equal(await link.getAttribute("href"), `${origin}/`);
    await watched.context.close();
  });

  it("people at the console connect an application with their passkey, see it among the sessions, and end it", async () => {
    const eve = await join("eve@example.com", "editor");
    await eve.page.evaluate(
      "fetch('/console/session').then((one) => one.json()).then(({ page_token }) => fetch('/console/session', { method: 'DELETE', headers: { 'postern-console-token': page_token } }))",
    );
    const received = Promise.withResolvers<URL>();
    const callback = createServer((request, response) => {
      const url = new URL(request.url ?? "", "http://localhost");
      if (url.pathname === "/callback") received.resolve(url);
      response.writeHead(200, { "content-type": "text/html" }).end("<title>Connected</title>");
    });
    callback.listen(0, "127.0.0.1");
    await once(callback, "listening");
    const store = new ClientStore(`http://127.0.0.1:${(callback.address() as AddressInfo).port}/callback`);
    const transport = () =>
      new StreamableHTTPClientTransport(new URL(`${platform.apiUrl}/mcp`), { authProvider: store });
    const first = transport();
    const client = new Client({ name: "test", version: "1.0.0" });
    await assert.rejects(client.connect(first as Parameters<Client["connect"]>[0]), UnauthorizedError);
    // The client knows the server by its address, and passkeys work at its name.
    await eve.page.goto(String(store.opened));
    await eve.page.getByText("Log in to connect the application.").waitFor();
    await eve.page.getByRole("link", { name: /^Log in with a passkey at localhost/ }).click();
    await eve.page.getByRole("button", { name: "Log in with a passkey" }).click();
    await eve.page.getByRole("heading", { name: "Allow “SDK client” to use this server?" }).waitFor();
    await assertAccessible(eve.page, "the confirmation of an application");
    await eve.page.getByText("eve@example.com").waitFor();
    await eve.page.getByRole("button", { name: "Allow" }).click();
    await first.finishAuth((await received.promise).searchParams.get("code") ?? "");
    await client.connect(transport() as Parameters<Client["connect"]>[0]);
    const { page } = admin;
    await visitView(page, platform, "people");
    await page.getByRole("region", { name: "Sessions" }).getByText("SDK client: read").waitFor();
    await page.getByRole("button", { name: "Disconnect SDK client of eve@example.com" }).click();
    await page.getByText("SDK client: read").waitFor({ state: "detached" });
    await assert.rejects(client.listTools(), UnauthorizedError);
    await client.close();
    callback.close();
    callback.closeAllConnections();
    await eve.watched.context.close();
  });
});
