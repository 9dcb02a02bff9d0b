/** The agent's inspector as a page, in a real browser, beside a real agent. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import type { Browser, Page } from "playwright-core";
import { WebSocket, WebSocketServer } from "ws";
import { request as requestHttp } from "../../src/lib/http.ts";
import { startChromium } from "../support/chromium.ts";
import { skipWithout } from "../support/programs.ts";
import { startCommand } from "../support/command.ts";
import type { Running } from "../support/command.ts";
import { callGrpc, startGrpcService } from "../support/grpc-service.ts";
import { json as jsonFields } from "../support/inspected-agent.ts";
import { eventually } from "../support/eventually.ts";
import { country, mmdbOf } from "../support/mmdb.ts";
import { assertAccessible, openWatched } from "../support/pages.ts";
import type { WatchedPage } from "../support/pages.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

/** The fields that tests check. */
interface HarEntry {
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly headers: readonly { readonly value: string }[];
    readonly postData: { readonly text: string };
  };
  readonly response: { readonly status: number; readonly cookies: readonly object[] };
  readonly time: number;
  readonly timings: Readonly<Record<string, number>>;
}

const hostile = `<img src=x onerror="alert('ran')"><script>alert("ran")</script>`;

describe("the inspector's page", { skip: skipWithout("chromium"), timeout: 120_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-inspector-page-"));
  const received: string[] = [];
  let streaming: ServerResponse | undefined;
  let platform: TestPlatform;
  let service: HttpService;
  let agent: Running;
  let chromium: Browser;
  let url: string;
  let origin: string;
  let watched: WatchedPage;
  let page: Page;
  before(async () => {
    const countries = join(directory, "countries.mmdb");
    writeFileSync(countries, mmdbOf({ "127.0.0.0/8": country("DE") }));
    [platform, chromium] = await Promise.all([
      startPlatform({ drainMs: 50, geoDatabase: [countries] }),
      startChromium(),
    ]);
    service = await startHttpService((request, response) => {
      let text = "";
      request.on("data", (part) => (text += String(part)));
      request.on("end", () => {
        received.push(`${request.method} ${request.url} ${request.headers.authorization ?? ""} ${text}`);
        if (request.url === "/stream") {
          response.setHeader("content-type", "text/event-stream");
          response.write("event: tick\ndata: first messages\n\n");
          streaming = response;
          return;
        }
        response.setHeader("content-type", "application/json");
        response.setHeader("set-cookie", "session=service-secret");
        response.statusCode = request.url?.startsWith("/missing") ? 404 : 200;
        response.end(JSON.stringify({ said: hostile, got: text }));
      });
    });
    writeFileSync(join(directory, "ca.pem"), platform.caPem);
    const access = ["--server", `127.0.0.1:${platform.agentPort}`, "--ca", join(directory, "ca.pem")];
    const env = { HOME: directory, XDG_CONFIG_HOME: directory, POSTERN_AUTHTOKEN: platform.authtoken };
    const logged = ["--json", "--log-format", "json", "--inspector", "0"];
    agent = startCommand(["http", String(service.port), ...logged, ...access], { env });
    url = (JSON.parse(await agent.firstLine()) as { url: string }).url;
    const place = /"url":"(http:\/\/127\.0\.0\.1:\d+)"/;
    origin = await eventually(() => place.exec(agent.stderr())?.[1] ?? "", Boolean);
    watched = await openWatched(chromium, origin);
    page = watched.page;
    await page.goto(`${origin}/inspect/http`);
    await page.getByText("live", { exact: true }).waitFor();
  });
  after(async () => {
    await chromium?.close();
    await agent?.end();
    await platform?.stop();
    await service?.stop();
    rmSync(directory, { recursive: true });
  });
  const row = (text: string) => page.locator(".requests button", { hasText: text }).first();
  const ask = (path: string, headers: Record<string, string> = {}, body?: string | Buffer) =>
    platform.request(`${url}${path}`, { headers, ...(body !== undefined && { method: "POST", body }) });

  it("the inspector's page shows what to send before the first request, and shows requests automatically", async () => {
    await page.getByText(`curl --cacert postern-ca.pem ${url}`).waitFor();
    await assertAccessible(page, "the empty page");
    await ask("/orders?page=2", { cookie: "basket=7" });
    await row("/orders?page=2").getByText(new URL(url).host).waitFor();
    await row("/orders?page=2").click();
    await page.getByRole("region", { name: "Query" }).getByText("page").waitFor();
    await page.getByRole("region", { name: "Response body" }).getByText('"said":').waitFor();
    // The edge reports this a moment later.
    await page.getByRole("img", { name: /^Edge .* ms, Tunnel .*, Upstream .*, Receiving / }).waitFor();
    await row("/orders?page=2").getByRole("img", { name: "Germany" }).waitFor();
    await page.locator("dd", { hasText: "127.0.0.1, 🇩🇪 Germany (DE)" }).waitFor();
    for (const part of ["Edge", "Tunnel", "Upstream", "First byte", "In all"]) {
      await page.locator("dt").getByText(part, { exact: true }).waitFor();
    }
    watched.assertQuiet();
  });

  it("the inspector's page shows all filters whole at 1280 px, and many tunnels in a menu", async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    const cut = await page.locator(".filters select, .filters input").evaluateAll((all) => {
      const edge = all[0]?.closest("section")?.getBoundingClientRect().right ?? 0;
      return all.filter((one) => one.getBoundingClientRect().right > edge || one.scrollWidth > one.clientWidth).length;
    });
    assert.equal(cut, 0);
    await page.route("**/api/tunnels", async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { tunnels: { name: string }[] };
      const [first] = body.tunnels;
      const tunnels = Array.from({ length: 40 }, (_, at) => ({ ...first, name: `tunnel ${at}` }));
      await route.fulfill({ response, json: { ...body, tunnels } });
    });
    await page.reload();
    await page.getByText("40 tunnels").click();
    assert.equal(await page.locator(".tunnel-menu a").count(), 40);
    await assertAccessible(page, "the menu of tunnels");
    await page.unrouteAll({ behavior: "wait" });
    await page.reload();
    await row("/orders?page=2").waitFor();
  });

  it("P9: the inspector's page shows markup of services and visitors as text, and executes none of it", async () => {
    await ask(`/x?q=${encodeURIComponent(hostile)}`, { "x-note": hostile }, hostile);
    await row("/x?q=").click();
    const body = page.getByRole("region", { name: "Request body" });
    await body.getByText(hostile).waitFor();
    assert.equal(await page.locator(".sides img, .sides script").count(), 0);
    watched.assertQuiet();
  });

  it("the inspector's page filters the list by status, method, path and duration, and by text in bodies that only the agent has", async () => {
    await ask("/missing");
    await ask("/noted", { "content-type": "text/plain" }, "a needle in here");
    await row("/noted").waitFor();
    await page.getByLabel("Status").selectOption("4xx");
    await eventually(
      () => page.locator(".requests button").count(),
      (count) => count === 1,
    );
    await page.getByLabel("Status").selectOption("");
    await row("/noted").waitFor();
    const shown = async (...paths: readonly string[]): Promise<void> => {
      const fits = (rows: readonly string[]): boolean =>
        rows.length === paths.length && paths.every((path) => rows.some((one) => one.includes(path)));
      await eventually(() => page.locator(".requests button").allInnerTexts(), fits);
    };
    await page.getByLabel("Method").selectOption("POST");
    await shown("/noted", "/x?q=");
    await page.getByLabel("Method").selectOption("");
    await page.getByLabel("Path contains").fill("MISS");
    await shown("/missing");
    await page.getByLabel("Path contains").fill("");
    await page.getByLabel("Slower than").selectOption("5000");
    await shown();
    await page.getByLabel("Slower than").selectOption("0");
    await page.keyboard.press("Escape");
    await page.getByLabel("Text in headers and bodies").fill("NEEDLE");
    await eventually(
      () => page.locator(".requests button").allInnerTexts(),
      (rows) => rows.length === 1 && (rows[0] ?? "").includes("/noted"),
    );
    await page.getByLabel("Text in headers and bodies").fill("");
    await row("/missing").waitFor();
  });

  it("the inspector's page shows the calls of an MCP client, and filters by method and tool", async () => {
    for (const name of ["weather", "search"]) {
      await platform.request(`${url}/mcp`, {
        method: "POST",
        headers: jsonFields,
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params: { name, arguments: { city: "Ulm" } },
        }),
      });
    }
    await page.getByRole("button", { name: /tools\/call weather/ }).click();
    const calls = page.getByRole("region", { name: "Calls" });
    await calls.getByText("weather").waitFor();
    assert.match(await calls.innerText(), /tools\/call.*weather.*no answer.*"city": "Ulm"/s);
    await assertAccessible(page, "calls of MCP");
    await page.getByLabel("Call", { exact: true }).selectOption("tools/call search");
    await eventually(
      () => page.getByRole("list", { name: "Requests" }).getByRole("button").count(),
      (count) => count === 1,
    );
    await page.getByLabel("Call", { exact: true }).selectOption("");
  });

  it("the inspector's page hides credentials until they are clicked, and does not find them by search", async () => {
    await ask("/private", { authorization: "Bearer visitor-secret" });
    await row("/private").click();
    await page.getByRole("button", { name: "hidden: show" }).first().waitFor();
    assert.doesNotMatch(await page.locator("body").innerText(), /visitor-secret|service-secret/);
    await page.getByRole("button", { name: "Show credentials" }).click();
    await page.getByText("Bearer visitor-secret").waitFor();
    await page.getByText("session=service-secret").waitFor();
    const found = await get("/api/requests/http?brief=true&text=visitor-secret");
    assert.deepEqual((JSON.parse(found.text) as { requests: unknown[] }).requests, []);
  });

  it("the inspector's page replays by a key, with or without changes, and sends hidden values unchanged", async () => {
    await ask("/again", { authorization: "Bearer kept-secret", "content-type": "text/plain" }, "once");
    await row("/again").click();
    await page.getByRole("heading", { name: "POST /again" }).waitFor();
    await page.locator("h1").click();
    await page.keyboard.press("r");
    await page.getByText("Repeats").waitFor();
    await page.getByRole("button", { name: "Edit and replay" }).click();
    await page.getByLabel("Path and query").fill("/again?edited");
    await page.getByLabel("Headers, one per line").press("End");
    await page.getByLabel("Headers, one per line").press("Enter");
    await page.getByLabel("Headers, one per line").pressSequentially("x-added: 1");
    await page.getByRole("textbox", { name: "Body" }).fill("twice");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("heading", { name: "POST /again?edited" }).waitFor();
    assert.deepEqual(
      received.filter((line) => line.includes("/again")),
      [
        "POST /again Bearer kept-secret once",
        "POST /again Bearer kept-secret once",
        "POST /again?edited Bearer kept-secret twice",
      ],
    );
    await page.getByLabel("Compare with").selectOption({ index: 1 });
    await page.locator(".diff .added", { hasText: "/again?edited" }).waitFor();
    await page.keyboard.press("Escape");
    watched.assertQuiet();
  });

  it("the inspector's page shows an event stream as it arrives", async () => {
    const visitor = ask("/stream").catch(() => undefined);
    await row("/stream").click();
    const body = page.getByRole("region", { name: "Response body" });
    await body.getByText("first messages").waitFor();
    streaming?.write("data: and a second\n\n");
    await body.getByText("and a second").waitFor();
    await body.getByText("arriving").waitFor();
    streaming?.end();
    await body.getByText("arriving").waitFor({ state: "detached" });
    await visitor;
  });

  it("the inspector's page shows messages of a WebSocket live, text as text and others as bytes", async () => {
    const server = new WebSocketServer({ server: service.server });
    server.on("connection", (one) => one.on("message", () => one.send(Buffer.from([0xca, 0xfe]))));
    const { host, hostname } = new URL(url);
    const secure = await platform.connect(hostname);
    const socket = new WebSocket(`ws://${host}/chat`, { createConnection: () => secure });
    await once(socket, "open");
    await row("/chat").click();
    socket.send(hostile);
    const messages = page.getByRole("region", { name: "Messages" });
    await messages.getByText(hostile).waitFor();
    await messages.getByText("from the visitor").waitFor();
    await messages.getByText("000000  ca fe").waitFor();
    await assertAccessible(page, "messages");
    socket.close(4000, "over");
    await messages.getByText("4000").first().waitFor();
    server.close();
    watched.assertQuiet();
  });

  it("the inspector's page shows a form's parts with names, files, types and sizes", async () => {
    const form = new FormData();
    form.set("note", hostile);
    form.set("photo", new Blob([Buffer.from([0xff, 0])], { type: "image/jpeg" }), "a.jpg");
    const encoded = new Request("http://a.example", { method: "POST", body: form });
    await ask("/upload", Object.fromEntries(encoded.headers), Buffer.from(await encoded.arrayBuffer()));
    await row("/upload").click();
    const parts = page.getByRole("list", { name: "Parts" });
    await parts.getByText(hostile).waitFor();
    for (const text of ["photo", "a.jpg", "image/jpeg", "2 B"]) await parts.getByText(text, { exact: true }).waitFor();
    watched.assertQuiet();
  });

  it("the inspector's page shows calls of gRPC with messages, trailers and status, finds them, and replays them", async (t) => {
    const { addr, asked, stop } = await startGrpcService();
    t.after(stop);
    const added = JSON.stringify({ name: "rpc", proto: "http", addr, hostname: "rpc.localhost" });
    const { public_url: at } = JSON.parse((await get("/api/tunnels", jsonFields, added)).text) as {
      public_url: string;
    };
    await callGrpc(platform, at, Buffer.from("where are my orders"));
    await row("/shop.Orders/Get").click();
    const request = page.getByRole("region", { name: "Request body" });
    await request.getByText("77 68 65 72 65").waitFor();
    const response = page.getByRole("region", { name: "Response", exact: true });
    await response.getByText("000000  08 01").waitFor();
    for (const text of ["PERMISSION_DENIED (7)", "not you"]) await response.getByText(text).waitFor();
    await response.getByRole("region", { name: "Trailers" }).getByText("grpc-status").waitFor();
    await assertAccessible(page, "a call");
    await page.getByLabel("Text in headers and bodies").fill("MY ORDERS");
    await eventually(
      () => page.locator(".requests button").allInnerTexts(),
      (rows) => rows.length === 1 && (rows[0] ?? "").includes("/shop.Orders/Get"),
    );
    await page.getByRole("button", { name: "Replay", exact: true }).click();
    await page.getByText("Repeats").waitFor();
    assert.equal(asked.length, 2);
    assert.equal(asked[0], asked[1]);
    await page.getByLabel("Replay to another tunnel").selectOption("command_line");
    await eventually(
      () => received.filter((line) => line.includes("/shop.Orders/Get")).length,
      (count) => count === 1,
    );
    assert.equal(received.filter((line) => line.includes("/shop.Orders/Get")).length, 1);
    await page.getByLabel("Text in headers and bodies").fill("");
    watched.assertQuiet();
  });

  for (const [kind, type, body, shown] of [
    ["JSON", "application/json", '{"one":[1,true]}', '{\n  "one": [\n    1,\n    true\n  ]\n}'],
    [
      "JSON with numbers that no browser has",
      "application/json",
      '{"id":12345678901234567890}',
      '{"id":12345678901234567890}',
    ],
    ["XML", "application/xml", "<a><b>text</b><c/></a>", "<a>\n  <b>text</b>\n  <c/>\n</a>"],
    ["gzipped text", "text/plain", gzipSync("packed before"), "packed before"],
    ["bytes", "application/octet-stream", Buffer.from([0, 1, 254]), /^000000 {2}00 01 fe/],
  ] as const) {
    it(`the inspector's page formats ${kind}`, async () => {
      const path = `/kinds/${encodeURIComponent(kind)}`;
      const coding = kind.startsWith("gzipped") ? { "content-encoding": "gzip" } : {};
      await ask(path, { "content-type": type, ...coding }, body);
      await row(path).click();
      await page.getByRole("heading", { name: `POST ${path}` }).waitFor();
      const text = () => page.getByRole("region", { name: "Request body" }).locator("pre").innerText();
      const seen = await eventually(text, (one) => (typeof shown === "string" ? one === shown : shown.test(one)));
      if (typeof shown === "string") assert.equal(seen, shown);
      else assert.match(seen, shown);
    });
  }

  it("the inspector's page formats forms by name and value, and shows images", async () => {
    await ask("/form", { "content-type": "application/x-www-form-urlencoded" }, "name=Ann+Lee&note=%C3%BC");
    await row("/form").click();
    const body = page.getByRole("region", { name: "Request body" });
    for (const text of ["name", "Ann Lee", "note", "ü"]) await body.getByText(text, { exact: true }).waitFor();
    const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";
    await ask("/image", { "content-type": "image/png" }, Buffer.from(pixel, "base64"));
    await row("/image").click();
    const image = body.getByRole("img", { name: "Body, image/png" });
    await image.waitFor();
    const width = await eventually(
      () => image.evaluate((one) => (one as unknown as { naturalWidth: number }).naturalWidth),
      Boolean,
    );
    assert.equal(width, 1);
    watched.assertQuiet();
  });

  it("the inspector's page exports a request as a curl command and as HAR, with credentials after they are revealed", async () => {
    await watched.context.grantPermissions(["clipboard-read", "clipboard-write"], { origin });
    // In any other option, curl would read a file for this body.
    const said = '@/etc/hostname: it\'s a "body"';
    await ask("/handed?on=1", { authorization: "Bearer handed-secret", "content-type": "text/plain" }, said);
    await row("/handed").click();
    await page.getByRole("heading", { name: "POST /handed?on=1" }).waitFor();
    const handed = async (): Promise<{ readonly curl: string; readonly har: HarEntry }> => {
      await page.getByRole("button", { name: "Copy as curl" }).click();
      await page.getByRole("button", { name: "Copied" }).waitFor();
      const curl = (await page.evaluate("navigator.clipboard.readText()")) as string;
      await page.getByRole("button", { name: "Copy as curl" }).waitFor();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Download HAR" }).click(),
      ]);
      const { log } = JSON.parse(readFileSync(await download.path(), "utf8")) as { log: { entries: [HarEntry] } };
      return { curl, har: log.entries[0] };
    };
    const hidden = await handed();
    assert.doesNotMatch(JSON.stringify(hidden), /handed-secret/);
    await page.getByRole("button", { name: "Show credentials" }).click();
    await page.getByText("Bearer handed-secret").waitFor();
    const { curl, har } = await handed();
    assert.deepEqual(har.response.cookies, [{ name: "session", value: "service-secret" }]);
    const { blocked = 0, connect = 0, send = 0, wait = 0, receive = 0 } = har.timings;
    // The edge has reported this by now. Without the report the value would be -1.
    assert.ok(blocked > 0, JSON.stringify(har.timings));
    assert.ok(Math.abs(blocked + Math.max(0, connect) + send + wait + receive - har.time) < 0.001);
    const words = spawnSync("sh", ["-c", `printf '%s\\n' ${curl}`], { encoding: "utf8" }).stdout.split("\n");
    assert.deepEqual(words.slice(0, 4), ["curl", "-X", "POST", `${url}/handed?on=1`]);
    assert.ok(words.includes("authorization: Bearer handed-secret"), curl);
    assert.deepEqual(words.slice(-3, -1), ["--data-raw", said]);
    assert.deepEqual([har.request.method, har.request.url, har.response.status], ["POST", `${url}/handed?on=1`, 200]);
    assert.equal(Buffer.from(har.request.postData.text, "base64").toString(), said);
    assert.ok(har.request.headers.some(({ value }) => value === "Bearer handed-secret"));
  });

  it("the inspector's page links and copies the URL of a name below a wildcard", async () => {
    await platform.api("POST", "/reserved_domains", { domain: "*.wild.example.net" });
    const asked = { name: "wild", proto: "http", addr: String(service.port), hostname: "*.wild.example.net" };
    const made = await get("/api/tunnels", jsonFields, JSON.stringify(asked));
    const { public_url: at } = JSON.parse(made.text) as { public_url: string };
    const below = `https://a.wild.example.net:${platform.httpsPort}/below`;
    await platform.request(below);
    await page.reload();
    await row("/below").click();
    await page.getByRole("heading", { name: "GET /below" }).waitFor();
    await page.getByText(/^\d+ tunnels$/).click();
    const link = page.getByRole("link", { name: at, exact: true });
    assert.equal(await link.getAttribute("href"), `https://any.wild.example.net:${platform.httpsPort}`);
    await page.getByText(/^\d+ tunnels$/).click();
    await page.getByRole("button", { name: "Copy as curl" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const curl = (await page.evaluate("navigator.clipboard.readText()")) as string;
    assert.ok(curl.startsWith(`curl ${below}`), curl);
  });

  it("the inspector's page displays characters that change the writing direction, and does not obey them", async () => {
    await ask("/turned", { "content-type": "text/plain" }, "exe\u202egnp.\u2066");
    await row("/turned").click();
    await page.getByText("exe[U+202E]gnp.[U+2066]").first().waitFor();
    assert.doesNotMatch(await page.locator("body").innerText(), /[\u202e\u2066]/);
    assert.doesNotMatch((await page.locator("body").innerHTML()).replaceAll(/value="[^"]*"/g, ""), /[\u202e\u2066]/);
  });

  it("the inspector's page has no serious accessibility fault, in both colours and at 360 px", async () => {
    await row("/orders").click();
    await page.getByRole("heading", { name: "GET /orders?page=2" }).waitFor();
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await assertAccessible(page, colorScheme);
    }
    await page.setViewportSize({ width: 360, height: 740 });
    const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
    assert.equal(overflow, 0);
    await page.keyboard.press("Escape");
    await row("/orders").waitFor();
  });

  it("P9: the inspector's page has a content policy that allows nothing inline, external or in a frame", async () => {
    const { headers } = await get("/");
    const policy = String(headers["content-security-policy"]);
    for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"]) {
      assert.ok(policy.includes(part), part);
    }
    assert.doesNotMatch(policy, /unsafe|https?:|\*/);
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.equal((await get("/assets/../../package.json")).status, 404);
    const rebound = await get("/", { host: "attacker.example" });
    assert.equal(rebound.status, 403);
  });

  it("the inspector's page keeps the lines of requests that the agent has deleted, and draws only the visible ones", async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.reload();
    await row("/below").waitFor();
    await ask("/first-of-many");
    const first = row("/first-of-many");
    await first.click();
    await page.getByRole("region", { name: "Response body" }).waitFor();
    await page.keyboard.press("Escape");
    for (let count = 0; count < 12; count += 1) {
      await Promise.all(Array.from({ length: 50 }, (_, at) => ask(`/many/${count * 50 + at}`)));
    }
    const rows = page.locator(".row-of-list");
    await eventually(
      async () => Number(await rows.first().getAttribute("aria-setsize")),
      (size) => size > 600,
    );
    assert.ok((await rows.count()) < 100, String(await rows.count()));
    await page.getByRole("searchbox", { name: "Path contains" }).fill("/first-of-many");
    await first.click();
    await page.getByText("has deleted this one").waitFor();
    assert.equal(await page.getByRole("button", { name: "Replay", exact: true }).count(), 0);
    await page.getByRole("searchbox", { name: "Path contains" }).fill("");
  });

  it("the pages load at most 150 KB of gzipped files at first, of which 90 KB are JavaScript", () => {
    const dist = join(import.meta.dirname, "../../console/dist");
    for (const name of ["index.html", "inspector.html"]) {
      const text = readFileSync(join(dist, name), "utf8");
      const files = [...text.matchAll(/(?:src|href)="\.?\/(assets\/[^"]+)"/g)].map(([, file]) => `${file}.gz`);
      const known = readdirSync(join(dist, "assets"));
      assert.ok(files.every((file) => known.includes(file.slice("assets/".length))));
      const sizeOf = (some: readonly string[]): number =>
        some.reduce((sum, file) => sum + statSync(join(dist, file)).size, 0);
      const bytes = sizeOf([`${name}.gz`, ...files]);
      assert.ok(bytes <= 150_000, `${name}: ${bytes} bytes`);
      const code = sizeOf(files.filter((file) => file.endsWith(".js.gz")));
      assert.ok(code > 0 && code <= 90_000, `${name}: ${code} bytes of JavaScript`);
    }
  });

  function get(path: string, headers: Record<string, string> = {}, body?: string) {
    const { promise, resolve, reject } = Promise.withResolvers<{
      status: number;
      headers: Readonly<Record<string, unknown>>;
      text: string;
    }>();
    const { hostname, port } = new URL(origin);
    const sent = requestHttp(
      { host: hostname, port, path, headers, method: body === undefined ? "GET" : "POST" },
      (response) => {
        let text = "";
        response.on("data", (part) => (text += String(part)));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      },
    );
    sent.on("error", reject);
    sent.end(body);
    return promise;
  }
});
