/** A server whose files were removed or replaced, as by an upgrade of its checkout, restarts its threads. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { bundles, freshBundle } from "../../bin/bundled.ts";
import { freePorts, root, startCommand } from "../support/command.ts";
import type { Running } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";

describe("a server whose checkout was removed", { timeout: 60_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-replaced-"));
  const checkout = join(directory, "checkout");
  let server: Running;
  let facts: { readonly api_url: string; readonly api_key: string };

  before(async () => {
    copyPrograms(checkout);
    server = startCommand(["dev", "1", "--json", "--data", join(directory, "data")], {
      checkout,
      env: { ...freePorts, NODE_OPTIONS: `--import=${root}test/support/mortal-threads.ts` },
    });
    facts = JSON.parse(await server.firstLine()) as typeof facts;
    rmSync(checkout, { recursive: true });
    // Other programs replace the original ones.
    copyPrograms(checkout, "throw new Error('the program of another version');\n");
  });
  after(async () => {
    await server.end();
    rmSync(directory, { recursive: true });
  });

  const metrics = async (): Promise<string> => {
    const headers = { authorization: `Bearer ${facts.api_key}`, "service-version": "2" };
    return await (await fetch(`${facts.api_url}/metrics`, { headers })).text();
  };
  const logged = async (text: string): Promise<void> => {
    while (!server.stderr().includes(text)) await once(server.process.stderr as NodeJS.ReadableStream, "data");
  };

  for (const [thread, signal] of [
    ["edge", "SIGUSR2"],
    ["control plane", "SIGHUP"],
  ] as const) {
    it(`a server whose checkout was removed starts a new ${thread} from the files that it has opened`, async () => {
      server.process.kill(signal);
      await logged(`${thread} stopped unexpectedly`);
      const isBack = (text: string): boolean => text.includes("\npostern_edges 1\n");
      assert.ok(await eventually(() => metrics().catch(() => ""), isBack), server.stderr());
      assert.doesNotMatch(server.stderr(), /another version/);
    });
  }
});

/**
 * Copies the files that a server runs from.
 * @param text replaces every program
 */
function copyPrograms(to: string, text?: string): void {
  if (freshBundle() === undefined) spawnSync(process.execPath, [join(root, "scripts/bundle.ts")]);
  const bundle = freshBundle();
  const program = bundle?.programs["src/main.ts"];
  assert.ok(bundle && program, "the sources are bundled");
  const copied = join(to, "node_modules/.cache/postern");
  mkdirSync(copied, { recursive: true });
  for (const name of ["bin", "package.json", "openapi.json"])
    cpSync(join(root, name), join(to, name), { recursive: true });
  cpSync(join(bundles, dirname(program)), join(copied, dirname(program)), { recursive: true });
  // Without inputs the bundle never counts as out of date.
  writeFileSync(join(copied, "index.json"), JSON.stringify({ ...bundle, inputs: [] }));
  if (text === undefined) return;
  const isProgram = /\.js$/;
  cpSync(join(bundles, dirname(program)), join(copied, dirname(program)), {
    recursive: true,
    filter: (_from, file) => {
      if (isProgram.test(file)) writeFileSync(file, text);
      return !isProgram.test(file);
    },
  });
}
