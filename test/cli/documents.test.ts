/** `postern plan`, `apply` and `export` as processes, against a separate server. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startCommand } from "../support/command.ts";
import { runSharedCommand } from "../support/shared-command.ts";
import { startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

const sqlite = databases[0] as (typeof databases)[number];

const document = `
document: shop
objects:
  tunnel_group_backend:
    web: { labels: { app: web } }
  https_edge:
    shop: { hostports: ["shop.example.com:443"] }
  https_edge_route:
    shop-root:
      edge_id: shop
      match_type: path_prefix
      match: /
      backend: { backend_id: web }
      webhook_verification: { provider: github, secret: { $env: HOOK_SECRET } }
`;

describe("documents on the command line", () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-documents-"));
  const file = join(directory, "shop.yaml");
  let api: TestApi;
  before(async () => {
    api = await startApi(sqlite);
    writeFileSync(file, document);
  });
  after(async () => {
    await api.stop();
    rmSync(directory, { recursive: true });
  });

  const postern = (args: readonly string[], env: Record<string, string> = {}) =>
    runSharedCommand(args, {
      cwd: directory,
      env: { POSTERN_API_URL: api.baseUrl, POSTERN_API_KEY: api.apiKey, HOOK_SECRET: "s3cret-hook", ...env },
    });

  it("documents on the command line are planned with exit code 8, applied, and then planned with exit code 0", async () => {
    const planned = await postern(["plan", file, "--env", "HOOK_SECRET"]);
    assert.equal(planned.code, 8, planned.stderr);
    assert.match(planned.stdout, /^\+ https_edge_route shop-root$/m);
    assert.match(planned.stdout, /^ {4}edge_id +"shop"$/m);
    assert.match(planned.stdout, /^\+ reserved_domain "shop\.example\.com" \(derived from other fields\)$/m);
    assert.match(planned.stdout, /^Document shop: 4 to create, 0 to change, 0 to delete, 0 unchanged\.$/m);
    const applied = await postern(["apply", file, "--env", "HOOK_SECRET", "--reason", "première, 東京, 100%"]);
    assert.equal(applied.code, 0, applied.stderr);
    assert.match(applied.stdout, /4 created, 0 changed, 0 deleted, 0 unchanged, as revision \d+\.$/m);
    assert.ok(!(planned.stdout + applied.stdout).includes("s3cret") && !applied.stdout.includes("\u001B["));
    const again = await postern(["plan", file, "--env", "HOOK_SECRET"]);
    assert.deepEqual([again.code, again.stdout], [0, "Document shop: nothing to change, 3 unchanged.\n"]);
    const { revisions } = await api.ok("GET", "/revisions?limit=1");
    assert.equal(revisions[0].reason, "première, 東京, 100%");
    const edge = (await api.ok("GET", "/edges/https")).https_edges[0] as Body;
    assert.equal(edge.routes[0].webhook_verification.secret, "s3cret-hook");
  });

  it("documents on the command line are applied by the hash of their plan, and refused if the changes are now others", async () => {
    const path = join(directory, "by-hash.yaml");
    writeFileSync(path, "document: by-hash\nobjects: { ip_policy: { office: { description: reviewed } } }\n");
    const planned = await postern(["plan", path]);
    const [, hash = ""] = /add --plan ([0-9a-f]{32}) to/.exec(planned.stderr) ?? [];
    assert.notEqual(hash, "", planned.stderr);
    writeFileSync(path, "document: by-hash\nobjects: { ip_policy: { office: { description: not reviewed } } }\n");
    const other = await postern(["apply", path, "--plan", hash]);
    assert.notEqual(other.code, 0);
    assert.match(other.stderr, new RegExp(errorCode("plan_stale")));
    writeFileSync(path, "document: by-hash\nobjects: { ip_policy: { office: { description: reviewed } } }\n");
    const applied = await postern(["apply", path, "--plan", hash]);
    assert.equal(applied.code, 0, applied.stderr);
    assert.match(applied.stdout, /1 created/);
  });

  it("documents on the command line read variables from a file, and policies as values that contain secrets", async () => {
    writeFileSync(
      join(directory, "policy.yaml"),
      `
document: policy
objects:
  https_edge: { guarded: { hostports: ["guarded.example.com:443"] } }
  https_edge_route:
    guarded-all:
      edge_id: guarded
      match_type: path_prefix
      match: /
      webhook_verification: { provider: github, secret: { $env: FIRST } }
      traffic_policy:
        value:
          $json: { on_http_request: [{ actions: [{ type: basic-auth, config: { credentials: [{ $env: SECOND }] } }] }] }
`,
    );
    const none = await postern(["plan", "policy.yaml"]);
    assert.equal(none.code, 2);
    assert.match(
      none.stderr,
      /reads 2 variables that have no value:\n {2}objects\.https_edge_route\.guarded-all\.webhook_verification\.secret: set FIRST, and allow it with --env FIRST\n/,
    );
    writeFileSync(join(directory, "secrets.env"), "# one\nFIRST='first secret'\nSECOND=\n");
    const half = await postern(["plan", "policy.yaml", "--env-file", "secrets.env"]);
    assert.match(half.stderr, /"policy\.yaml" reads the variable SECOND, which is not set/);
    writeFileSync(join(directory, "secrets.env"), "FIRST='first secret'\nSECOND=ann:long-password\n");
    const applied = await postern(["apply", "policy.yaml", "--env-file", "secrets.env"]);
    assert.equal(applied.code, 0, applied.stderr);
    const { https_edges: edges } = await api.ok("GET", "/edges/https");
    const { webhook_verification: hook, traffic_policy: policy } = edges.find(
      (edge: Body) => edge.hostports[0] === "guarded.example.com:443",
    ).routes[0];
    assert.equal(hook.secret, "first secret");
    assert.deepEqual(JSON.parse(policy.value), {
      on_http_request: [{ actions: [{ type: "basic-auth", config: { credentials: ["ann:long-password"] } }] }],
    });
    assert.match(
      (await postern(["plan", "policy.yaml", "--env-file", "absent.env"])).stderr,
      /cannot read "absent\.env": ENOENT/,
    );
  });

  it("documents on the command line are exported, and applied again without a change", async () => {
    const exported = await postern(["export", "--document", "shop"]);
    assert.equal(exported.code, 0, exported.stderr);
    assert.match(exported.stdout, /\$unchanged: true/);
    const copy = join(directory, "copy.yaml");
    writeFileSync(copy, exported.stdout);
    assert.equal((await postern(["plan", copy])).code, 0);
    const whole = await postern(["export", "--json"]);
    writeFileSync(join(directory, "whole.json"), whole.stdout);
    assert.equal((await postern(["plan", "whole.json"])).code, 0);
  });

  it("documents on the command line show changes and deletions, and prune on request", async () => {
    const smaller = join(directory, "smaller.yaml");
    writeFileSync(smaller, document.replace(/ {2}https_edge_route:[^]*/, "").replace("app: web", "app: \u009b31mnext"));
    const kept = await postern(["plan", smaller]);
    assert.match(
      kept.stdout,
      /^~ tunnel_group_backend web\n {4}labels {2}\{"app":"web"\} → \{"app":"\\u009b31mnext"\}$/m,
    );
    assert.match(kept.stdout, /0 to delete/);
    const pruned = await postern(["apply", smaller, "--prune"]);
    assert.match(pruned.stdout, /^- https_edge_route shop-root$/m);
    assert.match(pruned.stdout, /1 changed, 1 deleted/);
  });

  it("documents on the command line are coloured if colours are enabled, and printed as JSON on request", async () => {
    const coloured = await postern(["plan", file, "--env", "HOOK_SECRET"], { FORCE_COLOR: "1" });
    assert.ok(coloured.stdout.includes("\u001B[32m+ https_edge_route"), coloured.stdout);
    const json = JSON.parse((await postern(["plan", file, "--env", "HOOK_SECRET", "--json"])).stdout) as Body;
    assert.deepEqual([json.document, json.applied, json.summary.create], ["shop", false, 1]);
  });

  it("documents on the command line are planned with warnings about doubtful parts", async () => {
    const policy = "on_tcp_connect: [{actions: [{type: restrict-ips, config: {deny: [192.0.2.0/24]}}]}]";
    const text = `objects: { tcp_edge: { db: { traffic_policy: { value: "${policy}" } } } }`;
    writeFileSync(join(directory, "doubtful.yaml"), text);
    const { code, stdout } = await postern(["plan", "doubtful.yaml"]);
    assert.equal(code, 8);
    assert.match(stdout, /^! tcp_edge db: traffic_policy\.value: on_tcp_connect\[0\].*allows no address/m);
  });

  it("documents on the command line resolve references from variables and files, and report what is missing", async () => {
    writeFileSync(join(directory, "note.txt"), "from a file");
    const text = "objects: { ip_policy: { p: { description: { $file: note.txt } } } }";
    writeFileSync(join(directory, "note.yaml"), text);
    assert.equal((await postern(["apply", join(directory, "note.yaml")])).code, 0);
    assert.equal((await api.ok("GET", "/ip_policies")).ip_policies[0].description, "from a file");
    writeFileSync(join(directory, "unset.yaml"), "objects: { ip_policy: { p: { description: { $env: NOT_SET } } } }");
    for (const [name, sentence] of [
      ["unset.yaml", /reads the variable NOT_SET, which is not set/],
      ["absent.yaml", /cannot read "absent.yaml": ENOENT/],
    ] as const) {
      const ended = await postern(["plan", name, "--env", "NOT_SET"]);
      assert.equal(ended.code, 2);
      assert.match(ended.stderr, sentence);
    }
  });

  it("G12: a document reads no variable that the caller did not name, and no file outside its folder", async () => {
    const outside = join(directory, "outside.txt");
    const folder = join(directory, "cloned");
    mkdirSync(join(folder, "below"), { recursive: true });
    writeFileSync(outside, "canary-outside");
    writeFileSync(join(folder, "below", "inside.txt"), "inside");
    symlinkSync(outside, join(folder, "link.txt"));
    symlinkSync(directory, join(folder, "up"));
    const planned = async (reference: object, ...flags: string[]) => {
      const file = join(folder, "strange.json");
      writeFileSync(file, JSON.stringify({ objects: { ip_policy: { p: { description: reference } } } }));
      return await postern(["plan", "--json", file, ...flags]);
    };
    for (const path of [
      outside,
      "../outside.txt",
      "link.txt",
      "up/outside.txt",
      "below/../../outside.txt",
      ".",
      "up",
    ]) {
      const ended = await planned({ $file: path });
      assert.equal(ended.code, 2, path);
      assert.match(ended.stderr, /outside the document's folder|not a regular file/);
      assert.doesNotMatch(ended.stdout + ended.stderr, /canary/);
    }
    const secret = { POSTERN_CANARY: "canary-variable" };
    for (const [name, flags] of [
      ["POSTERN_CANARY", []],
      ["POSTERN_API_KEY", ["--env", "POSTERN_CANARY"]],
    ] as const) {
      const file = join(folder, "variable.yaml");
      writeFileSync(file, `objects: { ip_policy: { p: { description: { $env: ${name} } } } }`);
      const ended = await postern(["plan", file, ...flags], secret);
      assert.equal(ended.code, 2);
      assert.match(ended.stderr, new RegExp(`reads the variable ${name}: allow it with --env ${name}`));
    }
    assert.match((await planned({ $file: "below/inside.txt" })).stdout, /"inside"/);
  });

  it("a document from standard input reads no file", async () => {
    const text = "objects: { ip_policy: { p: { description: { $file: package.json } } } }";
    const planning = startCommand(["plan", "-"], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { POSTERN_API_URL: api.baseUrl, POSTERN_API_KEY: api.apiKey },
    });
    planning.process.stdin?.end(text);
    const ended = await planning.finished;
    assert.deepEqual([ended.code, /from standard input has no folder/.test(ended.stderr)], [2, true], ended.stderr);
  });

  it("documents on the command line are rejected in whole sentences, with every invalid field", async () => {
    writeFileSync(join(directory, "bad.yaml"), "objects: { bot_user: { a: {}, b: { name: b, activ: true } } }");
    const ended = await postern(["apply", "bad.yaml"]);
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, /objects\.bot_user\.a\.name"? ?:? is required/);
    assert.match(ended.stderr, /objects\.bot_user\.b\.activ: is unknown/);
    writeFileSync(join(directory, "broken.yaml"), "objects: [");
    assert.match((await postern(["plan", "broken.yaml"])).stderr, /broken\.yaml is not valid YAML: .*line 1/);
  });

  it("documents on the command line are read from standard input", async () => {
    const env = { POSTERN_API_URL: api.baseUrl, POSTERN_API_KEY: api.apiKey };
    const running = startCommand(["plan", "-"], { env, stdio: ["pipe", "pipe", "pipe"] });
    running.process.stdin?.end("objects: { ip_policy: { piped: {} } }");
    const ended = await running.finished;
    assert.equal(ended.code, 8, ended.stderr);
    assert.match(ended.stdout, /^\+ ip_policy piped$/m);
  });
});
