/** An inbox on a disk that becomes full: it acknowledges nothing that it cannot keep, and continues when there is room. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { freePorts, startCommand } from "../support/command.ts";
import type { Running } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { askOver } from "../support/http-client.ts";
import type { Asked } from "../support/http-client.ts";

const host = "full.localhost";
const directory = mkdtempSync(join(tmpdir(), "postern-inbox-full-"));
after(() => rmSync(directory, { recursive: true }));

interface Facts {
  readonly api_url: string;
  readonly https_port: number;
  readonly ca_file: string;
}

async function start(): Promise<{ readonly server: Running; readonly facts: Facts }> {
  // The signal of a file that must not grow would end the process. A full disk has no such signal.
  const server = startCommand(["serve", "--data", directory, "--json"], {
    env: freePorts,
    wrap: `trap '' XFSZ; exec "$@"`,
  });
  return { server, facts: JSON.parse(await server.firstLine()) as Facts };
}

async function call(facts: Facts, method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const authorization = `Bearer ${readFileSync(join(directory, "api-key"), "utf8").trim()}`;
  const headers = { authorization, "service-version": "2", "content-type": "application/json" };
  const reply = await fetch(facts.api_url + path, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  assert.ok(reply.ok, text);
  return JSON.parse(text) as Record<string, unknown>;
}

const post = (facts: Facts): Promise<Asked> =>
  askOver("h1", facts.https_port, readFileSync(facts.ca_file, "utf8"), {
    host,
    method: "POST",
    path: "/hook",
    body: "x".repeat(16_384),
  });

/** Sets how large any file of the server may become. Beyond it, write(2) fails as on a full disk. */
function setRoom({ process: { pid } }: Running, bytes: number | "unlimited"): void {
  const set = spawnSync("prlimit", ["--pid", String(pid), `--fsize=${bytes}:unlimited`], { encoding: "utf8" });
  assert.equal(set.status, 0, set.stderr);
}

it("S9: an inbox on a full disk answers 503, loses nothing that it acknowledged, and stores again when there is room", async () => {
  const { server, facts } = await start();
  const backend = await call(facts, "POST", "/backends/http_response", { status_code: 200, body: "taken" });
  const edge = await call(facts, "POST", "/edges/https", { hostports: [`${host}:443`] });
  await call(facts, "POST", `/edges/https/${String(edge["id"])}/routes`, {
    match_type: "path_prefix",
    match: "/",
    backend: { enabled: true, backend_id: backend["id"] },
    inbox: { enabled: true },
  });
  const acknowledged: string[] = [];
  const send = async (): Promise<Asked> => {
    const answer = await post(facts);
    if (answer.status === 202) acknowledged.push(String(answer.headers["postern-inbox-id"]));
    return answer;
  };
  assert.equal((await send()).status, 202);
  setRoom(server, 524_288);
  const refused = await eventually(send, ({ status }) => status !== 202);
  assert.equal(refused.status, 503);
  assert.equal(refused.headers["retry-after"], "30");
  assert.equal(refused.headers["postern-error-code"], errorCode("inbox_unavailable"));
  const beforeRoom = acknowledged.length;
  assert.equal((await send()).status, 503);

  setRoom(server, "unlimited");
  await eventually(send, ({ status }) => status === 202);
  assert.equal(acknowledged.length, beforeRoom + 1);
  await server.end("SIGKILL");

  const again = await start();
  const idsOf = async (): Promise<string[]> => {
    const page = await call(again.facts, "GET", "/inbox_messages?limit=100&state=delivered");
    return (page["inbox_messages"] as readonly { readonly id: string }[]).map(({ id }) => id);
  };
  const wanted = [...acknowledged].sort();
  const kept = await eventually(idsOf, (ids) => ids.length >= wanted.length);
  assert.deepEqual(kept.sort(), wanted);
  await again.server.end();
});
