import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { WebSocketServer } from "ws";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { startChromium } from "../support/chromium.ts";
import { skipWithout } from "../support/programs.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import type { Person } from "../support/oauth-providers.ts";

const ada: Person = { id: "4711", name: "Ada Lovelace", login: "ada", email: "ada@example.com", verified: true };
const phone: BrowserContextOptions = { viewport: { width: 360, height: 640 } };

describe("a real browser", { skip: skipWithout("chromium") }, () => {
  let chromium: Browser;
  let world: LoginWorld;
  let sockets: WebSocketServer;
  let context: BrowserContext;
  const others: HttpService[] = [];
  before(async () => {
    chromium = await startChromium();
    world = await startLoginWorld();
    await world.route("/", { oauth: { provider: { github: {} } } });
    await world.route("/staff", { oauth: { provider: { github: { email_addresses: ["grace@example.com"] } } } });
    await world.route("/pub", {});
    sockets = new WebSocketServer({ server: world.upstream.server });
  });
  after(async () => {
    await chromium?.close();
    sockets?.close();
    await world?.stop();
    for (const one of others) await one.stop();
  });
  beforeEach(async () => {
    Object.assign(world.providers, { person: ada, failure: undefined, declines: undefined });
    context = await open();
  });
  afterEach(() => context.close());
  const open = (options: BrowserContextOptions = {}): Promise<BrowserContext> =>
    chromium.newContext({ ignoreHTTPSErrors: true, ...options });
  const at = (path: string, host?: string): string => world.origin(host) + path;
  /** Serves a page of another site. */
  const otherSite = async (body: string): Promise<string> => {
    const other = await startHttpService((_request, response) => {
      response.setHeader("content-type", "text/html");
      response.end(body);
    });
    others.push(other);
    return `http://127.0.0.1:${other.port}/`;
  };
  const text = (page: Page): Promise<string> => page.locator("body").innerText();

  it("a real browser logs in and returns to its start, and the service sees the identity and no cookie of ours", async () => {
    const page = await context.newPage();
    const answer = await page.goto(at("/a?b=1"));
    assert.equal(page.url(), at("/a?b=1"));
    assert.equal(answer?.status(), 200);
    const { headers } = JSON.parse(await text(page)) as { headers: Record<string, string> };
    assert.equal(headers["ngrok-auth-user-email"], "ada@example.com");
    assert.equal(headers["cookie"], undefined);
    // A second cookie counts logins, and expires after a minute.
    const cookies = (await context.cookies(at("/"))).filter(({ name }) => !name.endsWith(".recent"));
    assert.equal(cookies.length, 1, "the cookie of the flow is gone");
    const [{ name, httpOnly, secure, sameSite, domain }] = cookies as [(typeof cookies)[number]];
    assert.match(name, /^__Host-/);
    assert.deepEqual(
      { httpOnly, secure, sameSite, domain },
      {
        httpOnly: true,
        secure: true,
        sameSite: "Lax",
        domain: "app.localhost",
      },
    );
  });

  it("a real browser logs in over HTTP/2, which it prefers", async () => {
    const page = await context.newPage();
    await page.goto(at("/"));
    const protocol = await page.evaluate('performance.getEntriesByType("navigation")[0].nextHopProtocol');
    assert.equal(protocol, "h2");
  });

  it("a real browser logs in from several tabs simultaneously, and each arrives", async () => {
    const paths = ["/one", "/two?x=1", "/three"];
    const pages = await Promise.all(paths.map(() => context.newPage()));
    await Promise.all(pages.map((page, index) => page.goto(at(paths[index] as string))));
    assert.deepEqual(
      pages.map((page) => page.url()),
      paths.map((path) => at(path)),
    );
  });

  it("a real browser is logged in when it follows a link from another site", async () => {
    const site = await otherSite(`<a href="${at("/deep")}">there</a>`);
    const page = await context.newPage();
    await page.goto(at("/"));
    const logins = world.providers.calls.length;
    await page.goto(site);
    await page.getByRole("link").click();
    await page.waitForURL(at("/deep"));
    assert.equal(world.providers.calls.length, logins, "by the session that it has");
  });

  it("a real browser gets 401 without a redirect for a script's request, with an address for the login", async () => {
    const page = await context.newPage();
    await page.goto(at("/pub"));
    const answers = await page.evaluate(async () => {
      const asked = async (init: RequestInit) => {
        const response = await fetch("/api/x", init);
        const body = (await response.json()) as { error_code: string; details: { login_url: string } };
        return { status: response.status, redirected: response.redirected, body };
      };
      return [await asked({}), await asked({ method: "POST", body: "x=1" })];
    });
    for (const { status, redirected, body } of answers) {
      assert.equal(`${status} ${redirected} ${body.error_code}`, `401 false ${errorCode("login_required")}`);
      await page.goto(body.details.login_url);
      assert.match(page.url(), new RegExp(`^${at("/")}`));
    }
  });

  it("a real browser that sends a form without a session gets a page that explains how to send it again", async () => {
    const page = await context.newPage();
    await page.goto(at("/pub"));
    const received = world.received.length;
    await page.setContent(
      `<form method="post" action="${at("/form")}"><button name="x" value="1">send</button></form>`,
    );
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.url() === at("/form")),
      page.getByRole("button").click(),
    ]);
    assert.equal(answer.status(), 401);
    await page.waitForLoadState();
    assert.equal(world.received.length, received);
    const [tab] = await Promise.all([context.waitForEvent("page"), page.getByRole("link").first().click()]);
    await tab.waitForURL(at("/"));
    await page.reload();
    const forms = world.received.slice(received).filter(({ method }) => method === "POST");
    assert.equal(forms.length, 1, "the same form, sent once more");
  });

  it("a real browser gets no WebSocket without a session, and loses an open one with its session", async () => {
    const page = await context.newPage();
    await page.goto(at("/pub"));
    const opened = (): Promise<string> =>
      page.evaluate(
        (url) =>
          new Promise<string>((resolve) => {
            const socket = new WebSocket(url);
            const closed = new Promise<string>((ended) => {
              socket.addEventListener("close", () => ended("closed"));
            });
            Object.assign(globalThis, { ended: closed });
            socket.addEventListener("open", () => resolve("open"));
            socket.addEventListener("error", () => resolve("refused"));
          }),
        at("/socket").replace("https:", "wss:"),
      );
    assert.equal(await opened(), "refused");
    await page.goto(at("/"));
    await page.goto(at("/pub"));
    assert.equal(await opened(), "open");
    const closed = page.evaluate(() => (globalThis as unknown as { ended: Promise<string> }).ended);
    const { application_sessions: sessions } = (await world.platform.api("GET", "/app/sessions")).body;
    for (const { id } of sessions) await world.platform.api("DELETE", `/app/sessions/${id}`);
    assert.equal(await closed, "closed");
  });

  it("a real browser logs out with a button, and must log in again", async () => {
    const page = await context.newPage();
    await page.goto(at("/"));
    await page.goto(at("/.postern/logout"));
    const button = page.getByRole("button");
    if ((await button.count()) > 0) await Promise.all([page.waitForLoadState("load"), button.click()]);
    await page.waitForLoadState();
    assert.equal((await context.cookies(at("/"))).length, 0);
    const logins = world.providers.calls.length;
    await page.goto(at("/"));
    assert.notEqual(world.providers.calls.length, logins);
  });

  it("a real browser shows a confirmation for another site's logout link, and logs out with that page's button", async () => {
    const page = await context.newPage();
    await page.goto(at("/"));
    await page.goto(await otherSite(`<a href="${at("/.postern/logout?path=/pub")}">a prize</a>`));
    await page.getByRole("link").click();
    await page.waitForURL(at("/.postern/logout?path=/pub"));
    assert.match(await text(page), /^Log out\?/);
    assert.notEqual((await context.cookies(at("/"))).length, 0);
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByText("You are logged out.").waitFor();
    assert.equal((await context.cookies(at("/"))).length, 0);
    await page.getByRole("link", { name: "Log in again" }).click();
    await page.waitForURL(at("/pub"));
  });

  it("a real browser starts again from a lost login", async () => {
    const page = await context.newPage();
    await page.goto(at("/.postern/callback?code=x&state=nothing"));
    await page.getByRole("link", { name: "Start again" }).click();
    await page.waitForURL(at("/"));
    assert.match(await text(page), /ada@example\.com/);
  });

  it("a real browser shows the logged-in person if they are rejected, and not the admitted people", async () => {
    const page = await context.newPage();
    const answer = await page.goto(at("/staff"));
    assert.equal(answer?.status(), 403);
    const shown = await text(page);
    assert.match(shown, /signed in as ada@example\.com/);
    assert.ok(!shown.includes("grace"));
    world.providers.person = { ...ada, id: "4712", login: "grace", email: "grace@example.com" };
    const [again] = await Promise.all([
      page.waitForResponse((response) => response.url() === at("/staff") && response.status() === 200),
      page.getByRole("link", { name: /another account/i }).click(),
    ]);
    await again.finished();
    assert.match(await text(page), /grace@example\.com/);
    assert.equal(world.providers.asked.get("prompt"), "select_account");
  });

  it("a real browser needs no script for our pages, and none is wider than a phone", async () => {
    const small = await open({ ...phone, javaScriptEnabled: true });
    const page = await small.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => {
      // A rejected request is not a complaint.
      if (!message.text().includes("status of")) complaints.push(message.text());
    });
    const visit = async (path: string, declines?: string): Promise<void> => {
      world.providers.declines = declines;
      await page.goto(at(path));
      assert.equal(await page.locator("script").count(), 0, path);
      const width = await page.evaluate<number>("document.documentElement.scrollWidth");
      assert.ok(width <= 360, `${path} is ${width} px wide`);
      assert.ok((await text(page)).length > 40, path);
    };
    await visit("/", "access_denied");
    await visit("/.postern/callback?code=x&state=nothing");
    await visit("/staff");
    await visit("/.postern/logout");
    assert.deepEqual(complaints, []);
    await small.close();
  });

  it("a real browser is not logged in by a frame of another site, where a link opens the login in the whole window", async () => {
    const site = await otherSite(`<iframe src="${at("/framed")}"></iframe>`);
    const page = await context.newPage();
    const [framed] = await Promise.all([
      page.waitForResponse((response) => response.url() === at("/framed")),
      page.goto(site),
    ]);
    assert.equal(framed.status(), 401);
    await page.frameLocator("iframe").getByRole("link").click();
    await page.waitForURL(at("/framed"));
    assert.match(await text(page), /ada@example\.com/);
  });

  it("a real browser shows no other page of ours in a frame of another site", async () => {
    const site = await otherSite(`<iframe src="${at("/.postern/logout")}"></iframe>`);
    const page = await context.newPage();
    await page.goto(site);
    assert.equal(await page.frameLocator("iframe").getByRole("button").count(), 0);
    assert.match(page.frames()[1]?.url() ?? "", /^chrome-error:/);
  });
});
