/** Untrusted input: an import ends with a result or with one sentence that names a place, within its limits. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { importCaddy } from "../../src/import/caddy/import-caddy.ts";
import { importCloudflared } from "../../src/import/cloudflared/import-cloudflared.ts";
import { importFrp } from "../../src/import/frp/import-frp.ts";
import { importPangolin } from "../../src/import/pangolin/import-pangolin.ts";
import { ImportIssue } from "../../src/import/report/report.ts";
import type { Imported } from "../../src/import/report/report.ts";
import { mutate } from "../support/mutations.ts";
import { seededRandom } from "../support/random.ts";
import type { Random } from "../support/random.ts";
import { runSharedCommand } from "../support/shared-command.ts";

const directory = mkdtempSync(join(tmpdir(), "postern-hostile-"));
after(() => rmSync(directory, { recursive: true }));

const importers: Readonly<Record<string, (file: string, text: string) => Imported>> = {
  caddy: (file, text) => importCaddy(file, text, "imported"),
  cloudflared: (file, text) => importCloudflared(file, text, "imported"),
  frp: (file, text) => importFrp([{ file, text }], "imported"),
  pangolin: (file, text) => importPangolin(file, text, "imported"),
};

describe("hostile input", () => {
  const bomb = [
    "a: &a [x, x, x, x, x, x, x, x, x]",
    ..."bcdefgh"
      .split("")
      .map((name, index) => `${name}: &${name} [${Array(9).fill(`*${"abcdefg"[index]}`).join(", ")}]`),
  ].join("\n");
  const cases: readonly (readonly [
    what: string,
    source: string,
    file: string,
    text: string | Buffer,
    message: RegExp,
  ])[] = [
    [
      "an alias bomb",
      "cloudflared",
      "bomb.yml",
      bomb,
      /^postern: bomb\.yml:\d+:\d+: the file has more than (?:100 aliases|50000 values)/,
    ],
    ["an alias of itself", "cloudflared", "self.yml", "a: &a\n  b: *a\n", /^postern: self\.yml/],
    ["deep YAML", "pangolin", "deep.yml", "[".repeat(20_000), /^postern: deep\.yml.*(?:nested|not valid YAML)/],
    [
      "nested YAML",
      "pangolin",
      "nested.yml",
      `${"[".repeat(40)}${"]".repeat(40)}`,
      /nested\.yml:1:33: the file is nested deeper than 32/,
    ],
    [
      "deep TOML",
      "frp",
      "deep.toml",
      `a = ${"[".repeat(20_000)}`,
      /deep\.toml:1:\d+: the file is nested deeper than 32/,
    ],
    [
      "deep TOML tables",
      "frp",
      "tables.toml",
      `[${Array(40).fill("a").join(".")}]\nb = 1`,
      /tables\.toml:1:2: the file is nested deeper than 32/,
    ],
    [
      "many values",
      "frp",
      "many.toml",
      `a = [${"1,".repeat(60_000)}]`,
      /many\.toml:1:\d+: the file has more than 50000 values/,
    ],
    [
      "deep JSON",
      "caddy",
      "deep.json",
      `{"a":${"[".repeat(5000)}${"]".repeat(5000)}}`,
      /deep\.json: the file is nested deeper than 32/,
    ],
    [
      "a repeated JSON name",
      "caddy",
      "twice.json",
      '{"apps":{},"apps":{}}',
      /twice\.json: the file has the same name twice/,
    ],
    ["a Caddyfile", "caddy", "Caddyfile", "example.com {\n}\n", /Caddyfile: this is not JSON: run `caddy adapt/],
    ["a NUL character", "frp", "nul.toml", "a = 1\nb = \0", /nul\.toml:2:5: the file contains a NUL character/],
    [
      "UTF-16",
      "frp",
      "utf16.toml",
      Buffer.from("\ufeffa = 1", "utf16le"),
      /utf16\.toml: it is UTF-16: save it as UTF-8/,
    ],
    ["Latin-1", "cloudflared", "latin1.yml", Buffer.from("tunnel: caf\xe9", "latin1"), /latin1\.yml: it is not UTF-8/],
    [
      "a huge file",
      "pangolin",
      "huge.yml",
      `# ${"x".repeat(1_048_576)}\n`,
      /huge\.yml: the file is larger than 1048576 bytes/,
    ],
    ["an unknown tag", "cloudflared", "tag.yml", "tunnel: !!js/function 'process.exit(7)'\n", /tag\.yml/],
    [
      "several documents",
      "cloudflared",
      "two.yml",
      "a: 1\n---\nb: 2\n",
      /two\.yml: the file must be one YAML document/,
    ],
    [
      "an unclosed text",
      "frp",
      "open.toml",
      'a = "never',
      /open\.toml:1:\d+: this is not valid TOML: the text has no closing quote/,
    ],
    [
      "a template",
      "frp",
      "template.toml",
      'serverAddr = "{{ .Envs.ADDRESS }}"',
      /template\.toml:1:\d+: templates are not supported/,
    ],
    ["a key that is set twice", "frp", "double.toml", "a = 1\na = 2", /double\.toml:2:1: "a" is set twice/],
    ["a bad INI line", "frp", "bad.ini", "[common]\nnonsense\n", /bad\.ini:2:1: expected \[section\] or key = value/],
  ];
  for (const [what, source, file, content, message] of cases) {
    it(`hostile input with ${what} is rejected with its place`, async () => {
      writeFileSync(join(directory, file), content);
      const started = process.cpuUsage();
      const ended = await runSharedCommand(["import", source, file, "--out", "out"], { cwd: directory });
      // The unknown tag is read as plain text, which the report leaves unchanged.
      if (what === "an unknown tag") return assert.ok(ended.code === 0 || ended.code === 2, ended.stderr);
      assert.deepEqual([ended.code, ended.stdout], [2, ""], ended.stderr);
      assert.match(ended.stderr, message);
      assert.ok(process.cpuUsage(started).user < 10_000_000);
    });
  }

  it("hostile input that is a folder, a device, a pipe or nothing is rejected", async () => {
    mkdirSync(join(directory, "folder"));
    execFileSync("mkfifo", [join(directory, "pipe")]);
    for (const [file, message] of [
      ["folder", /folder: this is not a regular file/],
      ["/dev/zero", /this is not a regular file/],
      ["pipe", /pipe: this is not a regular file/],
      ["absent.yml", /absent\.yml: cannot read the file: ENOENT/],
    ] as const) {
      const ended = await runSharedCommand(["import", "cloudflared", file], { cwd: directory });
      assert.equal(ended.code, 2);
      assert.match(ended.stderr, message);
    }
  });

  it("hostile input names no files that the import reads: certificates, policies and includes stay unread", async () => {
    writeFileSync(join(directory, "secret.pem"), "TOP-SECRET");
    symlinkSync(join(directory, "secret.pem"), join(directory, "link.pem"));
    writeFileSync(
      join(directory, "reads.yml"),
      'version: "2"\ntunnels:\n  a:\n    addr: 80\n    traffic_policy_file: link.pem\n    mutual_tls_cas: /etc/passwd\n',
    );
    writeFileSync(
      join(directory, "reads.toml"),
      'serverAddr = "a.example"\nincludes = ["secret.pem"]\n[[proxies]]\nname = "x"\ntype = "https"\ncustomDomains = ["x.example"]\n[proxies.plugin]\ntype = "https2http"\nlocalAddr = "127.0.0.1:80"\ncrtPath = "link.pem"\nkeyPath = "secret.pem"\n',
    );
    for (const [source, file] of [
      ["ngrok", "reads.yml"],
      ["frp", "reads.toml"],
    ] as const) {
      const ended = await runSharedCommand(["import", source, file, "--out", `${source}-reads`], { cwd: directory });
      assert.equal(ended.code, 0, ended.stderr);
      assert.ok(!ended.stdout.includes("TOP-SECRET") && !ended.stdout.includes("root:"));
    }
    assert.ok(!readFileSync(join(directory, "frp-reads/agent.yml"), "utf8").includes("TOP-SECRET"));
  });

  it("hostile input cannot write to a terminal, or outside the folder", async () => {
    writeFileSync(
      join(directory, "escape.yml"),
      'proxy-resources:\n  a:\n    protocol: http\n    full-domain: "x.example"\n    "\\e[31mred": 1\n    targets:\n      - { site: "../../outside", hostname: localhost, port: 80 }\n',
    );
    const ended = await runSharedCommand(["import", "pangolin", "escape.yml", "--out", "inside"], { cwd: directory });
    assert.ok(!ended.stdout.includes("\u001B"));
    assert.deepEqual(globSync("**/*outside*", { cwd: directory }), ["inside/agent-outside.yml"]);
  });

  it("hostile input with templates of policies remains text", () => {
    const site = {
      handler: "static_response",
      body: "${secrets.get('vault', 'name')}",
      headers: { "X-A": ["$${x!} ${y!}"] },
    };
    const config = {
      apps: { http: { servers: { a: { routes: [{ match: [{ host: ["a.example"] }], handle: [site] }] } } } },
    };
    const { document } = importCaddy("a.json", JSON.stringify(config), "imported");
    const written = JSON.stringify(document);
    assert.ok(written.includes(`"$\${secrets.get('vault', 'name')}"`), written);
    assert.ok(written.includes(`"$$\${x!} $\${y!}"`), written);
  });

  it("hostile input that is a changed real file ends with a result or an issue, never with another error", () => {
    const random = seededRandom(20_261_127);
    const seeds = files().map((file) => readFileSync(file));
    let results = 0;
    let issues = 0;
    for (const file of files()) {
      const run = importers[basename(dirname(file))];
      if (!run) continue;
      const text = readFileSync(file, "utf8");
      for (let round = 0; round < 60; round += 1) {
        const changed = round % 2 === 0 ? mutated(text, random) : mutate(Buffer.from(text), seeds, random).toString();
        try {
          run(basename(file), changed);
          results += 1;
        } catch (error) {
          assert.ok(error instanceof ImportIssue, `${file}: ${(error as Error).stack}\n${changed}`);
          issues += 1;
        }
      }
    }
    assert.ok(results > 100 && issues > 100, `${results} results, ${issues} issues`);
  });
});

/** Returns the text with one piece removed, doubled, moved or replaced by characters of the formats. */
function mutated(text: string, random: Random): string {
  const at = random.below(text.length);
  const end = Math.min(text.length, at + 1 + random.below(40));
  const signs = [
    "{",
    "}",
    "[",
    "]",
    ":",
    "-",
    '"',
    "'",
    "&a ",
    "*a",
    "\n",
    "\t",
    "null",
    "1e9",
    "{}",
    "[]",
    "=",
    ".",
    "<<: ",
    "${",
    "\u0000",
    "\uD800",
  ];
  const sign = random.pick(signs);
  const piece = text.slice(at, end);
  return random.pick([
    text.slice(0, at) + text.slice(end),
    text.slice(0, end) + piece + text.slice(end),
    text.slice(0, at) + sign + text.slice(at),
    text.slice(0, at) + sign + text.slice(end),
    text.slice(0, at),
  ]);
}

function files(): string[] {
  const pattern = fileURLToPath(new URL("fixtures/*/*", import.meta.url));
  return globSync(pattern)
    .filter((file) => !file.endsWith(".golden"))
    .toSorted();
}
