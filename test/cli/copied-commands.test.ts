/** Runs every text that the console and the inspector offer to copy, as a user would run it. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { parse } from "yaml";
import type { TestApi } from "../support/api.ts";
import { startChromium } from "../support/chromium.ts";
import { skipWithout } from "../support/programs.ts";
import { commandEnvironment, freePorts, root, startCommand } from "../support/command.ts";
import type { Running } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { makeWorld } from "../support/world.ts";

/** Records the texts that the page puts on the clipboard. */
const recorder = `
  globalThis.copied = [];
  Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { copied.push(text); } } });
`;
describe("the texts that pages offer to copy", { skip: skipWithout("chromium", "curl"), timeout: 600_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-copied-"));
  const received: string[] = [];
  let server: Running;
  let agent: Running | undefined;
  let service: HttpService;
  let chromium: Browser;
  let page: Page;
  let apiUrl: string;
  let apiKey: string;
  let environment: Record<string, string>;
  before(async () => {
    const bin = join(directory, "bin");
    mkdirSync(bin);
    // Does what npx does in a checkout, without its search on each call.
    writeFileSync(
      join(bin, "npx"),
      `#!/bin/sh\n[ "$1" = postern ] || exit 127\nshift\nexec "${process.execPath}" "${root}bin/postern.js" "$@"\n`,
    );
    chmodSync(join(bin, "npx"), 0o755);
    service = await startHttpService((asked, response) => {
      let text = "";
      asked.setEncoding("latin1").on("data", (part: string) => (text += part));
      asked.on("end", () => {
        received.push(`${asked.method} ${asked.url} [${String(asked.headers["x-empty"] ?? "-")}] ${text}`);
        response.end("answered");
      });
    });
    const env = commandEnvironment({ ...freePorts, HOME: directory, XDG_CONFIG_HOME: directory });
    server = startCommand(["serve"], { cwd: directory, env });
    const file = join(directory, ".postern/server.json");
    apiUrl = await eventually(() => {
      try {
        return String(JSON.parse(readFileSync(file, "utf8")).apiUrl);
      } catch {
        return "";
      }
    }, Boolean);
    apiKey = readFileSync(join(directory, ".postern/api-key"), "utf8").trim();
    environment = commandEnvironment({
      PATH: `${bin}:${process.env["PATH"] ?? ""}`,
      HOME: directory,
      XDG_CONFIG_HOME: directory,
      POSTERN_API_KEY: apiKey,
      WEBHOOK_SECRET: "s3cret",
      DATABASE_URL: "postgres://nobody@127.0.0.1:1/none",
    });
    chromium = await startChromium();
    const context = await chromium.newContext();
    await context.addInitScript(recorder);
    page = await context.newPage();
    await page.goto((await call("POST", "/console_links")).url);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });
  after(async () => {
    await chromium?.close();
    await agent?.end();
    await server?.end();
    await service?.stop();
    rmSync(directory, { recursive: true });
  });

  // The shape is what the API says.
  // oxlint-disable-next-line typescript/no-explicit-any
  async function call(method: string, path: string, body?: unknown): Promise<any> {
    const headers = { authorization: `Bearer ${apiKey}`, "service-version": "2", "content-type": "application/json" };
    const answer = await fetch(`${apiUrl}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    assert.ok(answer.status < 300, `${method} ${path}: ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  /** Presses every visible copy button, and returns the copied texts. */
  async function copyAll(within = "body"): Promise<readonly string[]> {
    await page.evaluate("copied.length = 0");
    const buttons = JSON.stringify(`${within} [data-copies]`);
    const count = await page.evaluate(`[...document.querySelectorAll(${buttons})].map((one) => one.click()).length`);
    return await eventually(
      () => page.evaluate("copied") as Promise<readonly string[]>,
      (all) => all.length >= Number(count),
    );
  }
  async function visit(view: string): Promise<void> {
    await page.goto(`${apiUrl}/#/${view}`);
    await page.getByRole("main").getByRole("heading", { level: 1 }).first().waitFor();
    await page.waitForLoadState("networkidle");
  }
  /** Runs a child process without blocking this process, which may be the service that the command calls. */
  async function execute(
    program: string,
    args: readonly string[],
    { env = environment, input = "" }: { readonly env?: Record<string, string>; readonly input?: string } = {},
  ): Promise<{ readonly status: number | null; readonly stdout: string; readonly stderr: string }> {
    const child = spawn(program, args, { cwd: directory, env, timeout: 60_000 });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (part: string) => (stdout += part));
    child.stderr.setEncoding("utf8").on("data", (part: string) => (stderr += part));
    child.stdin.on("error", () => undefined).end(Buffer.from(input, "latin1"));
    const status = await new Promise<number | null>((resolve) => child.once("close", resolve));
    return { status, stdout, stderr };
  }
  const shell = (command: string, more: Record<string, string> = {}) =>
    execute("sh", ["-c", command], { env: { ...environment, ...more } });

  /** Runs the text, or checks that it is not a command. Returns its kind. */
  async function run(text: string): Promise<"command" | "document" | "value"> {
    if (text.startsWith("npx postern http ")) {
      // Runs until it is stopped. The test waits for its output.
      const child = spawn("sh", ["-c", `exec ${text} --inspector off`], { cwd: directory, env: environment });
      let output = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => (output += String(part)));
      const ended = new Promise((resolve) => child.once("close", resolve));
      await eventually(
        () => output,
        (shown) => /https:\/\/|online|service=|app=/i.test(shown) || child.exitCode !== null,
      );
      assert.equal(child.exitCode, null, `${text}\n${output}`);
      child.kill();
      await ended;
      return "command";
    }
    if (text.startsWith("npx postern serve ")) {
      const { status, stderr } = await shell(text, freePorts);
      // The command line is correct, but the database does not exist.
      assert.ok(status !== 0 && status !== 2, `${text}: ${status} ${stderr}`);
      assert.match(stderr, /127\.0\.0\.1:1|database/i);
      return "command";
    }
    if (/^(?:npx|curl|printf) /.test(text)) {
      const { status, stdout, stderr } = await shell(text.replace("curl", "curl -sS"));
      assert.equal(status, 0, `${text}\n${stdout}${stderr}`);
      if (text.includes(apiUrl)) assert.doesNotMatch(stdout, /^\{"error_code"/, text);
      return "command";
    }
    let document: unknown;
    try {
      document = parse(text);
    } catch {
      document = undefined;
    }
    if (typeof document === "object" && document !== null && "objects" in document) {
      writeFileSync(join(directory, "copied.yaml"), text);
      const { status, stdout, stderr } = await shell("npx postern plan copied.yaml");
      assert.equal(status, 0, `${text}\n${stdout}${stderr}`);
      return "document";
    }
    assert.doesNotMatch(text, /^(?:postern|sudo|\$) |…/, "a command that is not run");
    return "value";
  }
  async function runAll(texts: Iterable<string>): Promise<Record<string, number>> {
    const counts: Record<string, number> = { command: 0, document: 0, value: 0 };
    for (const text of new Set(texts)) {
      const kind = await run(text);
      counts[kind] = (counts[kind] ?? 0) + 1;
    }
    return counts;
  }
  const allKinds = async (): Promise<readonly string[]> => {
    await visit("objects");
    const links = page.locator("main a[href^='#/objects/']");
    await links.first().waitFor();
    return links.evaluateAll((all) => all.map((one) => String(one.getAttribute("href")).slice("#/objects/".length)));
  };
  const views = ["overview", "traffic", "edges", "publish", "explain", "history", "logins", "webhooks", "events"];

  it("the texts that the console offers in empty views run", async () => {
    const texts: string[] = [];
    for (const view of [...views, ...(await allKinds()).map((kind) => `objects/${kind}`)]) {
      await visit(view);
      if (view.startsWith("objects/")) await page.locator("main .empty, main .body-row").first().waitFor();
      texts.push(...(await copyAll()));
    }
    const { command = 0 } = await runAll(texts);
    assert.ok(command >= 15, `only ${command}: ${texts.join("\n")}`);
  });

  it("the texts that the console offers for objects of every kind run", async () => {
    const ok = (method: string, path: string, body?: unknown) => call(method, path, body);
    const world = makeWorld({ ok, apiKey } as unknown as TestApi);
    const texts: string[] = [];
    const live = [
      "application_session",
      "application_user",
      "endpoint",
      "node",
      "passkey",
      "person",
      "tunnel",
      "tunnel_session",
      "console_session",
    ];
    for (const kind of (await allKinds()).filter((one) => !live.includes(one))) {
      const { id } = await world.make(kind);
      await visit(`objects/${kind}/${id}`);
      await page.locator("main .copies").first().waitFor();
      const all = await copyAll("main");
      assert.ok(
        all.some((text) => text.startsWith("npx postern api GET ")),
        kind,
      );
      texts.push(...all);
    }
    const { command = 0, document = 0 } = await runAll(texts);
    assert.ok(command >= 30 && document >= 10, `${command} commands, ${document} documents`);
  });

  it("the texts that the console offers for a change, a deletion and a rollback run", async () => {
    const policies = await Promise.all(
      ["it's changed", "curl", "cli"].map((description) => call("POST", "/ip_policies", { description })),
    );
    const open = async (id: string, button: string): Promise<void> => {
      await visit(`objects/ip_policy/${id}`);
      await page.getByRole("button", { name: button, exact: true }).click();
    };
    await open(policies[0].id, "Edit");
    await page.locator("#field-description").fill(`it's "changed" & $HOME`);
    await page.getByRole("button", { name: "Review …" }).click();
    await page.getByRole("dialog").locator(".copies").waitFor();
    const changes = await copyAll("dialog");
    assert.equal(changes.length, 3);
    await runAll(changes);
    assert.equal((await call("GET", `/ip_policies/${policies[0].id}`)).description, `it's "changed" & $HOME`);
    for (const [index, word] of ["curl", "npx"].entries()) {
      const { id } = policies[index + 1];
      await open(id, "Delete");
      await page.getByRole("dialog").locator(".copies").waitFor();
      const texts = await copyAll("dialog");
      assert.equal(await run(texts.find((text) => text.startsWith(word)) ?? ""), "command");
      const { ip_policies } = await call("GET", "/ip_policies?limit=100");
      assert.ok(!ip_policies.some((one: { id: string }) => one.id === id), word);
    }
    await visit("history");
    await page.locator("ol.revisions [data-copies]").first().waitFor({ state: "attached" });
    const { command } = await runAll(await copyAll("ol.revisions"));
    assert.ok((command ?? 0) >= 1);
  });

  it("the texts that the console offers while a service is published, explained and visited run", async () => {
    const { httpsPort } = JSON.parse(readFileSync(join(directory, ".postern/server.json"), "utf8"));
    const texts: string[] = [];
    await visit("publish");
    await page.getByLabel("Public name and port").fill(`shop.localhost:${httpsPort}`);
    await page.getByLabel("Your port").fill(String(service.port));
    await page.getByLabel("Machine").selectOption("a machine with an agent");
    await page.getByText("Details: changes and API call").click();
    await page.locator("main .copies").first().waitFor();
    texts.push(...(await copyAll("main")));
    await page.getByRole("button", { name: "Apply", exact: true }).click();
    await page.getByText("--label service=shop").waitFor();
    texts.push(...(await copyAll("main")));
    const { https_edges } = await call("GET", "/edges/https");
    const edge = https_edges.find(({ hostports }: { hostports: string[] }) => hostports[0]?.startsWith("shop."));
    await call("POST", `/edges/https/${edge.id}/routes`, {
      match_type: "path_prefix",
      match: "/hook",
      backend: { backend_id: edge.routes[0].backend.backend.id },
      webhook_verification: { provider: "github", secret: "s3cret" },
    });
    await visit(`explain?edge=${edge.id}`);
    texts.push(...(await copyAll("main")));
    assert.ok(((await runAll(texts)).command ?? 0) >= 3);

    agent = startCommand(["http", String(service.port), "--label", "service=shop", "--inspector", "off"], {
      cwd: directory,
      env: environment,
    });
    await eventually(
      () => call("GET", "/tunnels"),
      ({ tunnels }) => tunnels.length > 0,
    );
    await visit("webhooks");
    await page.getByRole("button", { name: "Sign and check" }).click();
    await page.getByRole("region", { name: "Verdict" }).waitFor();
    const from = received.length;
    const webhooks = (await copyAll("main")).filter((text) => /curl|webhook send/.test(text));
    assert.equal(webhooks.length, 2);
    await runAll(webhooks);
    assert.equal(received.slice(from).filter((one) => one.startsWith("POST /hook")).length, 2, "both were accepted");
    const { requests } = await call("GET", "/requests?limit=1");
    await visit(`traffic/${requests[0].id}`);
    await page.getByRole("button", { name: "Explain again with the current configuration" }).click();
    await page.getByRole("region", { name: "Ask again" }).waitFor();
    await runAll(await copyAll("main"));
    await agent.end();
    agent = undefined;
  });

  it("the texts that the inspector offers send the same requests again", async () => {
    agent = startCommand(["http", String(service.port), "--json", "--log-format", "json", "--inspector", "0"], {
      cwd: directory,
      env: environment,
    });
    const { url } = JSON.parse(await agent.firstLine()) as { url: string };
    const found = /"url":"(http:\/\/127\.0\.0\.1:\d+)"/;
    const origin = await eventually(() => found.exec(agent?.stderr() ?? "")?.[1] ?? "", Boolean);
    await page.goto(`${origin}/inspect/http`);
    await page.getByText("live", { exact: true }).waitFor();
    const texts = new Set(await copyAll());
    for (const [method, path, body] of [
      ["GET", "/first?a=1&b=[x]{y}", undefined],
      ["HEAD", "/second", undefined],
      ["POST", "/third", "@/etc/hostname"],
      ["PUT", "/fourth", "\u0000\u00ff\n$HOME 'quoted'"],
      ["GET", "/fifth", "a body"],
      ["DELETE", "/sixth", undefined],
    ] as const) {
      const before = received.length;
      const headers = [
        "-H",
        "x-empty;",
        "--path-as-is",
        "--globoff",
        ...(method === "HEAD" ? ["--head"] : ["-X", method]),
      ];
      const data = body === undefined ? [] : ["--data-binary", "@-"];
      const sent = await execute(
        "curl",
        ["-sS", "--cacert", ".postern/ca.pem", ...headers, ...data, new URL(url).origin + path],
        { input: body ?? "" },
      );
      assert.equal(sent.status, 0, sent.stderr);
      const original = await eventually(() => received[before] ?? "", Boolean);
      await page
        .locator(".requests button", { hasText: path.slice(0, 6) })
        .first()
        .click();
      await page.getByRole("heading", { name: `${method} ${path}` }).waitFor();
      const offered = (await copyAll()).filter((text) => !texts.has(text) && text.includes("curl"));
      assert.equal(offered.length, 1);
      const { status, stderr } = await shell(offered[0] ?? "", { CURL_CA_BUNDLE: join(directory, ".postern/ca.pem") });
      assert.equal(status, 0, `${offered[0]}\n${stderr}`);
      assert.equal(await eventually(() => received[before + 1] ?? "", Boolean), original);
    }
  });
});
