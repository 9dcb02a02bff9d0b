/** Runs the commands of the README. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { exitCodes } from "../../src/cli/process/exit.ts";
import { freePorts, root, startCommand } from "../support/command.ts";
import type { Running } from "../support/command.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { skipWithout } from "../support/programs.ts";

const readme = readFileSync(join(root, "README.md"), "utf8");

describe("the README", () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-readme-"));
  let dev: Running;
  let upstream: HttpService;
  let facts: { readonly api_url: string; readonly https_port: number };

  before(async () => {
    upstream = await startHttpService((_request, response) => response.end("from behind the edge"));
    dev = startCommand(["dev", "--json"], { env: freePorts, cwd: directory });
    facts = JSON.parse(await dev.firstLine()) as typeof facts;
  });
  after(async () => {
    await dev.end();
    await upstream.stop();
    rmSync(directory, { recursive: true });
  });

  it("the README's API calls route traffic to a labelled tunnel", { skip: skipWithout("curl") }, async () => {
    const lines = /<!-- test\/cli\/readme\.test\.ts[^]*?```sh\n([^]*?)```/.exec(readme)?.[1] as string;
    const script = lines
      .replaceAll("http://127.0.0.1:4700", facts.api_url)
      .replaceAll(":8443", `:${facts.https_port}`)
      .replaceAll("npx postern http 3000", `"${process.execPath}" "${root}bin/postern.js" http ${upstream.port}`);
    const shell = spawn("bash", ["-euc", `${script}\nkill $!`], { cwd: directory, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    shell.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    let faults = "";
    shell.stderr.on("data", (chunk: Buffer) => (faults += chunk.toString()));
    const code = await new Promise<number | null>((resolve) => shell.once("close", resolve));
    assert.equal(code, 0, output + faults);
    assert.match(output, /from behind the edge/);
  });

  it("the README names only commands and options that exist", () => {
    for (const [, command, rest] of readme.matchAll(
      /npx postern (serve|http|ca|account create|api \S+ \S+|completion)([^\n#`]*)/g,
    )) {
      const help = spawnSync(process.execPath, [`${root}bin/postern.js`, ...(command as string).split(" "), "--help"], {
        encoding: "utf8",
      }).stdout;
      for (const [flag] of (rest as string).matchAll(/--[a-z-]+/g))
        assert(flag === "--help" || help.includes(`  ${flag}`), `${command} ${flag}`);
    }
  });

  it("the README lists the actual exit codes", () => {
    for (const code of Object.values(exitCodes)) assert.match(readme, new RegExp(`\\| ${code} +\\|`));
  });
});
