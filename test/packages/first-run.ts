/** The first run of an installed Postern: publish, request, open the console, stop. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freePorts } from "../support/command.ts";
import { startHttpService } from "../support/services.ts";

interface DevFacts {
  readonly url: string;
  readonly ca_file: string;
  readonly console_url: string;
}

export interface Installed {
  /** Program and first words that start Postern. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Root directory of the process, for file names in its output. */
  readonly root?: string;
}

/** Publishes a service with `postern dev` in an empty directory, requests its URL and the console, and stops. */
export async function firstRun({ command, env, cwd, root = "/" }: Installed): Promise<void> {
  const service = await startHttpService((_request, response) => response.end("hello from the service"));
  const [program = "", ...words] = command;
  const dev = spawn(program, [...words, "dev", String(service.port), "--json"], {
    cwd,
    env: { ...env, ...freePorts },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  dev.stderr.on("data", (bytes) => (errors += String(bytes)));
  const exited = once(dev, "exit");
  try {
    const line = await Promise.race([once(createInterface(dev.stdout), "line"), exited]);
    assert.equal(typeof line[0], "string", `it ended before it was ready: ${errors}`);
    const facts = JSON.parse(line[0] as string) as DevFacts;
    const ca = readFileSync(join(root, facts.ca_file), "utf8");
    assert.equal(await getTls(facts.url, ca), "hello from the service");
    const page = await fetch(facts.console_url);
    const html = await page.text();
    assert.match(html, /<script type="module"/);
    const script = /src="([^"]+)"/.exec(html)?.[1] ?? "";
    assert.equal((await fetch(new URL(script, facts.console_url))).status, 200);
    const index = await (await fetch(new URL("/llms.txt", facts.console_url))).text();
    const pages = [...index.matchAll(/\]\((\/docs\/\S+?\.md)\)/g)].map(([, path = ""]) => path);
    assert.ok(pages.length > 30, `${pages.length} pages of documentation`);
    for (const path of pages) assert.equal((await fetch(new URL(path, facts.console_url))).status, 200, path);
  } finally {
    dev.kill("SIGINT");
    await service.stop();
  }
  assert.deepEqual((await exited)[0], 130, errors);
}

/** Returns the body at a URL of the server on this machine. */
export async function getTls(url: string, ca: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const asked = request({
    host: "127.0.0.1",
    port,
    servername: hostname,
    ca,
    headers: { host: `${hostname}:${port}` },
  });
  asked.end();
  const [response] = (await once(asked, "response")) as [AsyncIterable<Buffer>];
  let body = "";
  for await (const bytes of response) body += String(bytes);
  return body;
}

export interface InstalledServer {
  readonly facts: { readonly api_url: string; readonly agent_port: number; readonly authtoken: string };
  /** Calls the API with the key of the first start. */
  call(method: string, path: string, body?: unknown): Promise<Readonly<Record<string, unknown>>>;
  stop(): Promise<void>;
}

/**
 * Starts `postern serve` on a data directory.
 * @param data a path in the root of the installation
 */
export async function startInstalledServer(installed: Installed, data: string): Promise<InstalledServer> {
  const { command, env, cwd, root = "/" } = installed;
  const [program = "", ...words] = command;
  const server = spawn(program, [...words, "serve", "--data", data, "--json", "--drain-delay", "0"], {
    cwd,
    env: { ...env, ...freePorts },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  server.stderr.on("data", (bytes) => (errors += String(bytes)));
  const exited = once(server, "exit");
  const line = await Promise.race([once(createInterface(server.stdout), "line"), exited]);
  assert.equal(typeof line[0], "string", `it ended before it was ready: ${errors}`);
  const facts = JSON.parse(line[0] as string) as InstalledServer["facts"];
  const key = readFileSync(join(root, data, "api-key"), "utf8").trim();
  return {
    facts,
    async call(method, path, body) {
      const headers = {
        authorization: `Bearer ${key}`,
        "service-version": "2",
        ...(body !== undefined && { "content-type": "application/json" }),
      };
      const response = await fetch(`${facts.api_url}${path}`, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
      return JSON.parse(text) as Record<string, unknown>;
    },
    async stop() {
      server.kill("SIGTERM");
      assert.deepEqual(await exited, [0, null], errors);
    },
  };
}
