/**
 * Configuration files with invented names, and the result of each import: the report line by line, and the files. Every
 * agent file passes `postern config check`, and a server plans every document.
 *
 * `WRITE_GOLDEN=1` writes the expected results. Read the difference before you commit it.
 */
import assert from "node:assert/strict";
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { createSelfSigned } from "../../src/lib/certificates/x509.ts";
import { runSharedCommand } from "../support/shared-command.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

const fixtures = fileURLToPath(new URL("fixtures/", import.meta.url));
const directory = mkdtempSync(join(tmpdir(), "postern-import-"));
after(() => rmSync(directory, { recursive: true }));

/** Fixtures that are imported together. */
const pairs: Readonly<Record<string, readonly string[]>> = { "frp/frpc-pair.toml": ["frp/frps.toml"] };
const files = globSync("*/*", { cwd: fixtures })
  .filter((file) => !file.endsWith(".golden"))
  .toSorted();

describe("golden imports", () => {
  let api: TestApi;
  before(async () => {
    api = await startApi(databases[0] as (typeof databases)[number]);
    cpSync(fixtures, directory, { recursive: true });
    const { certificatePem, keyPem } = await createSelfSigned({ names: ["example.net"], now: Date.now(), days: 30 });
    for (const source of new Set(files.map(dirname))) {
      mkdirSync(join(directory, source, "certs"));
      writeFileSync(join(directory, source, "certs/ca.pem"), certificatePem);
      writeFileSync(join(directory, source, "certs/server.crt"), certificatePem);
      writeFileSync(join(directory, source, "certs/server.key"), keyPem);
    }
  });
  after(() => api.stop());

  for (const file of files) {
    it(`${file} is imported with its golden result`, async () => {
      const source = dirname(file);
      const cwd = join(directory, source);
      const env = { POSTERN_API_URL: api.baseUrl, POSTERN_API_KEY: api.apiKey };
      const postern = (args: readonly string[]) => runSharedCommand(args, { cwd, env });
      const inputs = [...(pairs[file] ?? []), file].map((one) => basename(one));
      const out = `${basename(file)}.out`;
      const imported = await postern(["import", source, ...inputs, "--out", out]);
      const outputs = ["document.yaml", ...agentFiles(join(cwd, out)), "server.yaml", "secrets.env"].filter((name) =>
        existsSync(join(cwd, out, name)),
      );
      const texts = outputs.map((name) => `--- ${name}\n${readFileSync(join(cwd, out, name), "utf8")}`);
      const result = [`exit code ${imported.code}\n`, imported.stderr, imported.stdout, ...texts]
        .join("")
        .replaceAll(cwd, "FOLDER");
      const golden = join(fixtures, `${file}.golden`);
      if (process.env["WRITE_GOLDEN"]) writeFileSync(golden, result);
      assert.equal(result, readFileSync(golden, "utf8"));
      for (const name of agentFiles(join(cwd, out))) {
        const checked = await postern(["config", "check", "--config", join(out, name)]);
        assert.equal(checked.code, 0, checked.stdout);
      }
      if (outputs.includes("document.yaml")) {
        const secrets =
          texts.find((text) => text.startsWith("--- secrets.env"))?.replaceAll(/^(\w+)=$/gm, "$1=user:long-password") ??
          "";
        writeFileSync(join(cwd, "filled.env"), secrets.replace(/^---.*\n/, ""));
        const planned = await postern(["plan", join(out, "document.yaml"), "--env-file", "filled.env"]);
        assert.equal(planned.code, 8, planned.stderr);
      }
    });
  }
});

function agentFiles(folder: string): string[] {
  return globSync("agent*.yml", { cwd: folder }).toSorted();
}
