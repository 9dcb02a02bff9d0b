/**
 * The worker threads of an installed Postern. Each one starts from the artifact, also after its files were replaced.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freePorts } from "../support/command.ts";
import { startHttpService } from "../support/services.ts";
import type { Installed } from "./first-run.ts";

/** Names of the threads, as the system shows them (15 bytes at most). */
const threads = ["commits", "control plane", "edge", "identity", "logins", "replacements"];

/** Longer than the traffic thread searches itself. */
const longBody = "internal ".repeat(40_000);

/** @param replace called when the server runs, before the threads that start on demand */
export async function checkThreads({ command, env, cwd }: Installed, replace: () => void): Promise<void> {
  const service = await startHttpService((_request, response) => {
    response.setHeader("content-type", "text/plain");
    response.end(longBody);
  });
  const [program = "", ...words] = command;
  const start = (...more: readonly string[]) =>
    spawn(program, [...words, ...more, "--json"], {
      cwd,
      env: { ...env, ...freePorts },
      stdio: ["ignore", "pipe", "pipe"],
    });
  const dev = start("dev", String(service.port), "--sso", "dev");
  let errors = "";
  dev.stderr.on("data", (bytes) => (errors += String(bytes)));
  const firstOf = async (process: typeof dev): Promise<Record<string, string>> => {
    const line = await Promise.race([once(createInterface(process.stdout), "line"), once(process, "exit")]);
    assert.equal(typeof line[0], "string", errors);
    return JSON.parse(line[0] as string) as Record<string, string>;
  };
  const facts = await firstOf(dev);
  const policy = join(cwd, "policy.yml");
  writeFileSync(
    policy,
    `on_http_response:
  - actions:
      - type: response-body-find-replace
        config: { replacements: [{ from: internal, to: public }] }
`,
  );
  const url = "https://replaced.localhost";
  const data = join(cwd, ".postern");
  const agent = start("http", String(service.port), "--url", url, "--traffic-policy-file", policy, "--data", data);
  try {
    await firstOf(agent);
    replace();
    const ca = readFileSync(facts["ca_file"] ?? "", "utf8");
    const port = Number(facts["https_port"]);
    assert.equal((await ask(facts["url"] ?? "", port, ca)).status, 302);
    const replaced = await ask(url, port, ca);
    assert.deepEqual([replaced.status, replaced.body.slice(0, 7)], [200, "public "]);
    const checked = await fetch(`${facts["api_url"]}/policies/check`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${facts["api_key"]}`,
        "service-version": "2",
        "content-type": "application/json",
      },
      body: JSON.stringify({ policy: "on_http_request: []" }),
    });
    assert.equal(checked.status, 200, await checked.text());
    const running = threadsOf(dev.pid as number);
    assert.deepEqual(
      threads.filter((name) => !running.includes(name)),
      [],
      `only ${running.join(", ")} run; ${errors}`,
    );
  } finally {
    const ended = [dev, agent].map((process) => once(process, "exit"));
    for (const process of [agent, dev]) process.kill("SIGTERM");
    await Promise.all(ended);
    await service.stop();
  }
}

async function ask(url: string, port: number, ca: string): Promise<{ readonly status: number; readonly body: string }> {
  const { hostname } = new URL(url);
  const asked = request({
    host: "127.0.0.1",
    port,
    servername: hostname,
    ca,
    headers: { host: `${hostname}:${port}` },
  });
  asked.end();
  const [response] = (await once(asked, "response")) as [AsyncIterable<Buffer> & { readonly statusCode: number }];
  let body = "";
  for await (const bytes of response) body += String(bytes);
  return { status: response.statusCode, body };
}

/** Returns the names of the threads of a process, or of the process that a launcher started. */
function threadsOf(pid: number): readonly string[] {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  const tasks = `/proc/${child || pid}/task`;
  return readdirSync(tasks).map((task) => readFileSync(join(tasks, task, "comm"), "utf8").trim());
}
