/**
 * The SDK as published: built, imported by its name, on the installed Node versions, and the examples of its README.
 */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { root } from "../support/command.ts";
import { databases } from "../support/postgres.ts";

const sample = /```ts\n([^]*?)```/.exec(readFileSync(join(root, "sdk/README.md"), "utf8"))?.[1] as string;
const bin = join(root, "node_modules/.bin");

/** This Node, and the one of the machine where it is another that the SDK is for. */
const nodes = [...new Set([process.execPath, ...(systemNode() ?? [])])];

describe("the SDK as a package", () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-sdk-"));
  const installed = join(directory, "node_modules/@postern/sdk");
  let api: TestApi;
  before(async () => {
    mkdirSync(installed, { recursive: true });
    const built = spawnSync(join(bin, "tsc"), ["-p", "sdk", "--outDir", join(installed, "dist")], {
      cwd: root,
      encoding: "utf8",
    });
    assert.equal(built.status, 0, built.stdout);
    cpSync(join(root, "sdk/package.json"), join(installed, "package.json"));
    writeFileSync(join(directory, "package.json"), '{ "type": "module" }');
    writeFileSync(join(directory, "sample.ts"), sample);
    api = await startApi(databases[0] as (typeof databases)[number]);
  });
  after(async () => {
    await api.stop();
    rmSync(directory, { recursive: true });
  });

  it("the SDK as a package has types by which the sample of its README compiles, and a mistake does not", () => {
    const mistakes = 'await postern.ipPolicies.create({ descripton: "x" });\nawait postern.edges.https.get();\n';
    writeFileSync(join(directory, "wrong.ts"), `${sample}${mistakes}`);
    const options = ["--noEmit", "--strict", "--target", "es2023", "--module", "nodenext", "--skipLibCheck"];
    const compile = (file: string) => {
      const types = ["--typeRoots", join(root, "node_modules/@types"), "--types", "node", "--ignoreConfig"];
      return spawnSync(join(bin, "tsc"), [...options, ...types, file], { cwd: directory, encoding: "utf8" });
    };
    assert.equal(compile("sample.ts").stdout, "");
    const errors = [...compile("wrong.ts").stdout.matchAll(/error (TS\d+)/g)].map(([, code]) => code);
    assert.deepEqual(errors, ["TS2561", "TS2554"]);
  });

  it("the SDK as a package is built when npm installs its folder into an empty directory", () => {
    const place = mkdtempSync(join(tmpdir(), "postern-sdk-install-"));
    try {
      for (const one of ["sdk/src", "sdk/package.json", "sdk/tsconfig.json", "tsconfig.json"]) {
        cpSync(join(root, one), join(place, "checkout", one), { recursive: true });
      }
      symlinkSync(join(root, "node_modules"), join(place, "checkout/node_modules"));
      for (const options of [[], ["--install-links"]]) {
        const empty = mkdtempSync(join(place, "empty-"));
        const npm = spawnSync("npm", ["install", "--offline", "--no-audit", ...options, "../checkout/sdk"], {
          cwd: empty,
          encoding: "utf8",
          env: { ...process.env, npm_config_ignore_scripts: "false", npm_config_cache: join(place, "cache") },
        });
        assert.equal(npm.status, 0, npm.stderr);
        const script = 'const { Postern } = await import("@postern/sdk"); console.log(typeof Postern);';
        const run = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
          cwd: empty,
          encoding: "utf8",
        });
        assert.equal(run.stdout, "function\n", run.stderr);
      }
    } finally {
      rmSync(place, { recursive: true });
    }
  });

  for (const [index, node] of nodes.entries()) {
    const version = spawnSync(node, ["--version"], { encoding: "utf8" }).stdout.trim();
    it(`the SDK as a package runs the sample of its README on Node ${version}`, async () => {
      // The address of this server, and a host that no other run of the sample holds.
      const script = sample
        .replace("http://127.0.0.1:4700", api.baseUrl)
        .replace("shop.localhost", `shop${index}.localhost`);
      const file = join(directory, `sample${index}.js`);
      writeFileSync(file, script);
      const child = spawn(node, [file], { cwd: directory, env: { POSTERN_API_KEY: api.apiKey } });
      let output = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk));
      const code = await new Promise((resolve) => child.once("close", resolve));
      assert.equal(code, 0, output);
      assert.match(output, /^ipp_\w+ the office$/m);
      const { ip_policies } = await api.ok("GET", "/ip_policies?limit=1");
      assert.equal(ip_policies[0].description, "both offices");
    });
  }
});

function systemNode(): string[] | undefined {
  const script = "process.stdout.write(process.execPath)";
  const path = (process.env["PATH"] ?? "").split(":").filter((folder) => !folder.includes("node_modules"));
  const found = spawnSync("node", ["-e", script], { encoding: "utf8", env: { PATH: path.join(":") } }).stdout;
  return found ? [found] : undefined;
}
