/** A server that starts on a full disk serves traffic, and recovers automatically when there is room. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request as tlsRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { request as plainRequest } from "../../src/lib/http.ts";
import { freePorts, startCommand } from "../support/command.ts";
import type { Running } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";

interface Facts {
  readonly api_url: string;
  readonly https_port: number;
  readonly ca_file: string;
}

const directory = mkdtempSync(join(tmpdir(), "postern-full-disk-"));
after(() => rmSync(directory, { recursive: true }));

/** No byte can be written to any file. write(2) fails as on a full disk, and the accompanying signal is ignored. */
const fullDisk = `trap '' XFSZ; ulimit -S -f 0; exec "$@"`;

async function answerOf(
  asked: ReturnType<typeof plainRequest>,
  body?: unknown,
): Promise<{ status: number; text: string }> {
  asked.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response.setEncoding("utf8") as AsyncIterable<string>) text += chunk;
  return { status: response.statusCode ?? 0, text };
}

async function visit({ https_port: port, ca_file: ca }: Facts): Promise<{ status: number; text: string }> {
  const host = "full.localhost";
  return await answerOf(
    tlsRequest({ host: "127.0.0.1", port, servername: host, headers: { host }, ca: readFileSync(ca), agent: false }),
  );
}

async function call(facts: Facts, method: string, path: string, body?: unknown): ReturnType<typeof answerOf> {
  const authorization = `Bearer ${readFileSync(join(directory, "api-key"), "utf8").trim()}`;
  const headers = { authorization, "service-version": "2", "content-type": "application/json" };
  return await answerOf(plainRequest(facts.api_url + path, { method, headers, agent: false }), body);
}

async function create(facts: Facts, path: string, body: unknown): Promise<string> {
  const { status, text } = await call(facts, "POST", path, body);
  assert.equal(status, 201, text);
  return (JSON.parse(text) as { readonly id: string }).id;
}

describe("a start on a full disk", () => {
  const args = ["serve", "--data", directory, "--json"];
  const started = async (server: Running): Promise<Facts> => JSON.parse(await server.firstLine()) as Facts;

  it("S3: a start on a full disk after a crash serves traffic and reads, answers writes with 503, logs it, and recovers automatically", async () => {
    const first = startCommand(args, { env: freePorts });
    const before = await started(first);
    const backend_id = await create(before, "/backends/http_response", { status_code: 200, body: "served" });
    const edge = await create(before, "/edges/https", { hostports: ["full.localhost:443"] });
    const route = { match_type: "path_prefix", match: "/", backend: { enabled: true, backend_id } };
    await create(before, `/edges/https/${edge}/routes`, route);
    assert.deepEqual(await visit(before), { status: 200, text: "served" });
    await first.end("SIGKILL");

    const server = startCommand(args, { env: freePorts, wrap: fullDisk });
    const facts = await started(server);
    assert.deepEqual(await visit(facts), { status: 200, text: "served" });
    assert.equal((await call(facts, "GET", `/edges/https/${edge}`)).status, 200);
    assert.equal((await call(facts, "GET", `/edges/https/${edge}?at_revision=2`)).status, 404);
    assert.equal((await call(facts, "GET", "/revisions")).status, 200);
    const refused = await call(facts, "POST", "/ip_policies", {});
    assert.equal(refused.status, 503, refused.text);
    const ready = await call(facts, "GET", "/readyz");
    assert.equal(ready.status, 200);
    assert.match(ready.text, /^ready\nwrites are rejected because the database does not accept them/);
    assert.equal((await call(facts, "GET", "/readyz?of=writes")).status, 503);
    assert.match(server.stderr(), /the disk of the database accepts no writes/);

    const lifted = spawnSync("prlimit", ["--pid", String(server.process.pid), "--fsize=unlimited"], {
      encoding: "utf8",
    });
    assert.equal(lifted.status, 0, lifted.stderr);
    const writable = await eventually(
      () => call(facts, "GET", "/readyz?of=writes"),
      ({ status }) => status === 200,
    );
    assert.equal(writable.status, 200);
    assert.equal((await call(facts, "GET", "/readyz")).text, "ready\n");
    const policy = await create(facts, "/ip_policies", {});
    assert.deepEqual(await visit(facts), { status: 200, text: "served" });
    const ended = await server.end();
    assert.equal(ended.code, 0, ended.stderr);

    const last = startCommand(args, { env: freePorts });
    const again = await started(last);
    assert.equal((await call(again, "GET", `/ip_policies/${policy}`)).status, 200);
    assert.deepEqual(await visit(again), { status: 200, text: "served" });
    await last.end();
  });
});
