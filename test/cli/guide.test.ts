/** Runs the samples of guides unchanged, and compares their output with the printed output. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { root } from "../support/command.ts";
import { databases } from "../support/postgres.ts";

const sqlite = databases[0] as (typeof databases)[number];
const guides = [
  { name: "plan-and-apply", commands: 8 },
  { name: "events", commands: 5 },
  { name: "agents", commands: 6 },
  { name: "coming-from-frp", commands: 1 },
  { name: "coming-from-cloudflared", commands: 1 },
  { name: "import", commands: 3 },
];

for (const { name, commands: least } of guides) {
  describe(`the guide ${name}`, { timeout: 60_000 }, () => {
    const directory = mkdtempSync(join(tmpdir(), "postern-guide-"));
    let api: TestApi;
    before(async () => {
      api = await startApi(sqlite, { data: join(directory, ".postern") });
      mkdirSync(join(directory, "bin"));
      const postern = join(directory, "bin", "postern");
      writeFileSync(postern, `#!/bin/sh\nexec '${process.execPath}' '${root}bin/postern.js' "$@"\n`);
      chmodSync(postern, 0o755);
    });
    after(async () => {
      await api.stop();
      rmSync(directory, { recursive: true });
    });

    /** Returns the output of a shell for a command line. */
    const run = (line: string): Promise<string> => {
      const env = {
        PATH: `${join(directory, "bin")}:${process.env["PATH"]}`,
        POSTERN_API_URL: api.baseUrl,
        POSTERN_API_KEY: api.apiKey,
        GITHUB_SECRET: "s3cret",
      };
      const shell = spawn("sh", ["-c", `${line} 2>&1`], { cwd: directory, env });
      let output = "";
      shell.stdout.on("data", (bytes: Buffer) => (output += bytes.toString()));
      return new Promise((resolve) => shell.once("close", () => resolve(output)));
    };

    it(`the guide ${name} prints the real output`, async () => {
      const guide = readFileSync(`${root}docs/guides/${name}.md`, "utf8");
      let commands = 0;
      for (const [, info = "", content = ""] of guide.matchAll(/^```(.*)\n([^]*?)^```$/gm)) {
        const file = /^yaml (\S+)$/.exec(info)?.[1];
        if (file !== undefined) writeFileSync(join(directory, file), content);
        if (info !== "console") continue;
        for (const sample of content.split(/^\$ /m).slice(1)) {
          const end = sample.indexOf("\n");
          const line = sample.slice(0, end);
          const printed = sample.slice(end + 1);
          let output = await run(line);
          // Output that is only read may arrive later.
          for (let tries = 0; tries < 200 && line.includes("grep ") && output !== printed; tries += 1)
            output = await run(line);
          // The hash of a plan depends on the state of the server.
          const [given, wanted] = [output, printed].map((text) =>
            text.replaceAll(/--plan [0-9a-f]{32}/g, "--plan HASH"),
          );
          assert.equal(given, wanted, line);
          commands += 1;
        }
      }
      assert.ok(commands >= least);
    });
  });
}
