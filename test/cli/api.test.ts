/** `postern api` and `postern completion` as processes, against a separate server. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { operations } from "../../sdk/src/index.ts";
import { apiCommand, wordsOf } from "../../src/cli/commands/api.ts";
import { describeOperation } from "../../src/cli/api/packed-description.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { runCommand } from "../support/command.ts";
import type { Finished } from "../support/command.ts";
import { databases } from "../support/postgres.ts";
import { runSharedCommand } from "../support/shared-command.ts";

describe("postern api", () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-api-"));
  let api: TestApi;
  before(async () => {
    api = await startApi(databases[0] as (typeof databases)[number]);
  });
  after(async () => {
    await api.stop();
    rmSync(directory, { recursive: true });
  });

  const run = (words: string, ...more: readonly string[]): Promise<Finished> => {
    const env = { POSTERN_API_URL: api.baseUrl, POSTERN_API_KEY: api.apiKey };
    return runSharedCommand(["api", ...words.split(" "), ...more], { cwd: directory, env });
  };
  /** Runs the command with `--json`. Fails the test if the command fails. */
  // The shape is what the tests are about.
  // oxlint-disable-next-line typescript/no-explicit-any
  const json = async (words: string, ...more: readonly string[]): Promise<any> => {
    const ended = await run(words, ...more, "--json");
    assert.equal(ended.code, 0, ended.stderr);
    return ended.stdout === "" ? undefined : JSON.parse(ended.stdout);
  };

  it("postern api reads its key from the agent's file if nothing else sets a key", async () => {
    mkdirSync(join(directory, "postern"), { recursive: true });
    writeFileSync(join(directory, "postern", "agent.yml"), `version: 3\nagent: { api_key: ${api.apiKey} }\n`);
    const env = { POSTERN_API_URL: api.baseUrl, XDG_CONFIG_HOME: directory, POSTERN_DATA: join(directory, "none") };
    const listed = (more: object) =>
      runSharedCommand(["api", "ip_policies", "list"], { cwd: directory, env: { ...env, ...more } });
    const found = await listed({});
    assert.equal(found.code, 0, found.stderr);
    assert.equal((await listed({ POSTERN_API_KEY: `${api.apiKey}x` })).code, 3);
  });

  it("postern api creates, gets, changes and deletes an object", async () => {
    const made = await json("ip_policies create", "--description", "the office");
    const read = await run(`ip_policies get ${made.id}`);
    assert.match(read.stdout, new RegExp(`^id           ${made.id}\n`));
    assert.match(read.stdout, /^description {2}the office$/m);
    const changed = await json(`ip_policies update ${made.id}`, "--metadata=x", "--reason", "прочь");
    const { revisions } = await api.ok("GET", "/revisions?limit=1");
    assert.equal(revisions[0].reason, "прочь");
    const key = await run("ip_policies create --idempotency-key schlüssel");
    assert.deepEqual(
      [key.code, key.stderr],
      [2, 'postern: --idempotency-key must be visible ASCII characters: "schlüssel"\n'],
    );
    assert.deepEqual(changed, { ...made, metadata: "x" });
    assert.equal((await run(`ip_policies delete ${made.id}`)).stdout, "deleteIPPolicy: done\n");
    const gone = await run(`ip_policies get ${made.id}`);
    assert.equal(gone.code, 7);
    assert.match(
      gone.stderr,
      new RegExp(
        String.raw`^postern: this account has no ip policy "ipp_\w+" \(${errorCode("not_found")}, op_\w+\)\n$`,
      ),
    );
  });

  it("postern api warns on stderr about accepted input that was probably not intended", async () => {
    const { id } = await api.ok("POST", "/edges/tcp", {});
    const policy =
      "on_tcp_connect: [{expressions: [\"conn.client_ip.geo.location.city == 'Zürich\\\\n'\"], actions: [{type: restrict-ips, config: {deny: [192.0.2.0/24]}}]}]";
    const ended = await run(`edges/tcp/traffic_policy replace ${id}`, "--value", policy, "--json");
    assert.equal(ended.code, 0, ended.stderr);
    assert.equal(typeof JSON.parse(ended.stdout), "object");
    const [first, second, ...rest] = ended.stderr.split("\n");
    assert.match(
      first ?? "",
      /^warning: traffic_policy\.value: .*line 1, column 1: "conn\.client_ip\.geo\.location\.city" is empty unless/,
    );
    assert.match(second ?? "", /^warning: traffic_policy\.value: .*allows no address/);
    assert.deepEqual(rest, [""]);
    await api.ok("DELETE", `/edges/tcp/${id}`);
  });

  it("postern api METHOD PATH sends one request, with a body as JSON, from a file or from the standard input", async () => {
    const made = await run("POST /ip_policies", '{"description":"by path"}');
    assert.equal(made.code, 0, made.stderr);
    const { id, description } = JSON.parse(made.stdout);
    assert.equal(description, "by path");
    writeFileSync(join(directory, "change.yaml"), "metadata: from a file\n");
    const changed = await run(`PATCH /ip_policies/${id} @change.yaml --reason`, "why not");
    assert.equal(JSON.parse(changed.stdout).metadata, "from a file");
    assert.equal((await api.ok("GET", "/revisions?limit=1")).revisions[0].reason, "why not");
    const page = JSON.parse((await run("GET /ip_policies?limit=1")).stdout);
    assert.deepEqual([page.ip_policies[0].id, page.ip_policies.length], [id, 1]);
    const stale = await run(`DELETE /ip_policies/${id} --if-match`, '"0"');
    assert.deepEqual([stale.code, stale.stderr.includes(errorCode("precondition_failed"))], [7, true]);
    assert.equal((await run(`DELETE /ip_policies/${id}?dry_run=true`)).code, 0);
    assert.equal((await run(`DELETE /ip_policies/${id}`)).stdout, `DELETE /ip_policies/${id}: done\n`);
    assert.equal((await run(`GET /ip_policies/${id}`)).code, 7);
    assert.equal((await run("GET /healthz")).stdout, "ok\n");
    for (const [words, message] of [
      ["GET ip_policies", /PATH must begin with "\/"/],
      ["GET https://example.com/", /PATH must begin with "\/"/],
      ["POST /ip_policies {", /the body is not JSON/],
      ["GET /ip_policies {}", /./],
    ] as const) {
      const refused = await run(words);
      assert.equal(refused.code, 2, words);
      assert.match(refused.stderr, message);
    }
    assert.match((await run("POST --help")).stdout, /Usage: postern api POST \[OPTIONS\] PATH \[JSON/);
  });

  it("postern api accepts --dry-run without a value, and changes nothing", async () => {
    const { id } = await api.ok("POST", "/edges/tcp", {});
    const policy = await api.ok("POST", "/ip_policies", {});
    const tried = await json(`edges/tcp update ${id} --description tried`, "--dry-run");
    assert.equal(tried.description, "tried");
    assert.equal((await run(`edges/tcp/ip_restriction replace ${id} --ip-policy-ids ${policy.id} --dry-run`)).code, 0);
    const edge = await api.ok("GET", `/edges/tcp/${id}`);
    assert.deepEqual([edge.description, edge.ip_restriction], ["", null]);
    await api.ok("DELETE", `/edges/tcp/${id}`);
  });

  it("postern api lists objects as a table, across pages, up to the limit", async () => {
    const ids: string[] = [];
    for (let count = 0; count < 103; count += 1) {
      ids.unshift(
        (await api.ok("POST", "/vaults", { name: `vault ${count}`, description: count === 1 ? "early" : "" })).id,
      );
    }
    const all = await run("vaults list");
    const lines = all.stdout.trimEnd().split("\n");
    assert.match(lines[0] as string, /^ID +NAME +CREATED_AT$/);
    assert.deepEqual(
      lines.slice(1).map((line) => line.split(" ")[0]),
      ids,
    );
    const some = await run("vaults list --limit 101");
    assert.equal(some.stdout.split("\n").length, 103);
    assert.equal(some.stderr, `More objects follow: --before-id ${ids[100]}\n`);
    const rest = await run("vaults list --before-id", ids[100] as string);
    assert.match(rest.stdout, new RegExp(`^ID .*\n${ids[101]} .*\n${ids[102]} .*\n$`));
    assert.deepEqual(
      (await json("vaults list")).map(({ id }: { id: string }) => id),
      ids,
    );
    assert.deepEqual(await json("edges/tcp list"), []);
    const none = await run("edges/tcp list");
    assert.deepEqual([none.stdout, none.stderr], ["", "No objects.\n"]);
  });

  it("postern api accepts fields of every type as options, which override a document", async () => {
    const backend = await json("backends/tunnel_group create --labels app=web --labels", "dc=eu");
    assert.deepEqual(backend.labels, { app: "web", dc: "eu" });
    const weighted = await json("backends/weighted create --backends", `${backend.id}=3`);
    assert.deepEqual(weighted.backends, { [backend.id]: 3 });
    const fixed = await json("backends/http_response create --status-code 404 --body", '{"gone":1}');
    assert.deepEqual([fixed.status_code, fixed.body], [404, '{"gone":1}']);
    writeFileSync(
      join(directory, "edge.yaml"),
      "description: from the file\nhostports: [a.localhost:443]\nmetadata: kept\n",
    );
    const edge = await json(
      "edges/https create --data @edge.yaml --description given --tls-termination.min-version 1.3",
    );
    assert.deepEqual([edge.description, edge.metadata, edge.hostports], ["given", "kept", ["a.localhost:443"]]);
    assert.equal(edge.tls_termination.min_version, "1.3");
    const route = await json(
      `edges/https/routes create ${edge.id} --match-type path_prefix --match /`,
      "--data",
      JSON.stringify({ compression: {}, backend: { backend_id: backend.id } }),
      "--backend.enabled=false",
      "--request-headers",
      '{"remove":["x-a"]}',
    );
    assert.deepEqual([route.backend.enabled, route.backend.backend.id], [false, backend.id]);
    assert.deepEqual(route.request_headers.remove, ["x-a"]);
    const place = `${edge.id} ${route.id}`;
    assert.equal((await json(`edges/https/routes update ${place} --compression null`)).compression, null);
    const breaker = await json(`edges/https/routes/circuit_breaker replace ${place} --error-threshold-percentage 0.25`);
    assert.equal(breaker.error_threshold_percentage, 0.25);
    assert.equal(await json(`edges/https/routes/circuit_breaker delete ${place}`), undefined);
    const table = await run("edges/https list");
    assert.match(table.stdout, /^ID .*HOSTPORTS +ROUTES .*TLS_TERMINATION/);
    assert.match(table.stdout, /a\.localhost:443 .* on /);
  });

  it("postern api reads secrets from files, and has no option for their text alone", async () => {
    writeFileSync(join(directory, "secret"), "from a file\n");
    const edge = await json("edges/https create");
    const route = await json(`edges/https/routes create ${edge.id} --match-type path_prefix --match /`);
    const place = `${edge.id} ${route.id} --provider github`;
    const set = await json(`edges/https/routes/webhook_verification replace ${place} --secret-file secret`);
    assert.equal(set.secret, "from a file");
    for (const operation of operations) {
      const secrets = Object.entries(describeOperation(operation).fields).filter(([, field]) => field["x-secret"]);
      const { settings } = apiCommand(wordsOf(operation).split(" "));
      for (const [name] of secrets) assert.equal(settings[`field:${name}`]?.secret, true, `${operation.id} ${name}`);
    }
  });

  it("postern api reads a document from the standard input", async () => {
    writeFileSync(join(directory, "in.json"), '{"description":"piped"}');
    const stdin = openSync(join(directory, "in.json"), "r");
    const ended = await runCommand(["api", "ip_policies", "create", "--data", "@-"], {
      cwd: directory,
      env: { POSTERN_API_URL: api.baseUrl, POSTERN_API_KEY: api.apiKey },
      stdio: [stdin, "pipe", "pipe"],
    });
    closeSync(stdin);
    assert.match(ended.stdout, /^description {2}piped$/m, ended.stderr);
  });

  it("postern api does not read options of a single call from the environment", async () => {
    const env = {
      POSTERN_API_URL: api.baseUrl,
      POSTERN_API_KEY: api.apiKey,
      POSTERN_DESCRIPTION: "x",
      POSTERN_LIMIT: "1",
    };
    const ended = await runSharedCommand(["api", "ip_policies", "create", "--json"], { cwd: directory, env });
    assert.equal(JSON.parse(ended.stdout).description, "");
  });

  it("postern api prints nothing that a terminal could interpret as a command", async () => {
    const made = await api.ok("POST", "/ip_policies", { description: "\u001B[2Jred\u202Eeht", metadata: "a\nb" });
    const outputs = [await run(`ip_policies get ${made.id}`), await run("ip_policies list --limit 1")];
    for (const { stdout } of outputs) {
      assert(!stdout.includes("\u001B") && !stdout.includes("\u202E"));
      assert.match(stdout, /\\u001b\[2Jred\\u202eeht/);
    }
    assert.equal((await json(`ip_policies get ${made.id}`)).description, made.description);
  });

  for (const [what, words, code, sentence] of [
    ["no resource", "", 2, /takes RESOURCE VERB/],
    ["an unknown resource", "ip_policy list", 2, /unknown resource "ip_policy" \(did you mean "ip_policies"\?\)/],
    [
      "a resource with a dash",
      "ip-policies list",
      2,
      /unknown resource "ip-policies" \(did you mean "ip_policies"\?\)/,
    ],
    ["a resource like no other", "dashboards list", 2, /unknown resource "dashboards", `postern api --help`/],
    ["a verb written wrongly", "ip_policies lst", 2, /no verb "lst" \(did you mean "list"\?\): create, list,/],
    ["an unknown verb", "ip_policies purge", 2, /ip_policies has no verb "purge": create, list, get, update, delete/],
    ["a missing id", "ip_policies get", 2, /`postern api ip_policies get` takes ID/],
    ["an id too many", "ip_policies get a b", 2, /`postern api ip_policies get` takes ID/],
    ["an empty id", "ip_policies get ", 2, /must be an id/],
    ["an unknown field", "ip_policies create --descripton x", 2, /did you mean --description\?/],
    [
      "text where a number belongs",
      "backends/http_response create --status-code many",
      2,
      /--status-code must be a number/,
    ],
    ["a body that is not JSON", "ip_policies create --data .postern", 2, /to set the data directory, use --data-dir/],
    ["a body that is a list", "ip_policies create --data []", 2, /--data must contain one object/],
    ["a missing file", "ip_policies create --data @none.json", 2, /cannot read "none.json"/],
    [
      "a value that the API rejects",
      "ip_policy_rules create --cidr x --action allow",
      2,
      /\(ERR_POSTERN_\d+, op_\w+\)/,
    ],
    ["a missing object", "ip_policies get ipp_x", 7, new RegExp(errorCode("not_found"))],
    ["a stale tag", 'ip_policies delete STALE --if-match "1"', 7, new RegExp(errorCode("precondition_failed"))],
    ["a taken name", "bot_users create --name TAKEN", 5, new RegExp(errorCode("name_taken"))],
    ["an unknown key", "ip_policies list --api-key wrong", 3, new RegExp(errorCode("unknown_credentials"))],
    ["an API that does not answer", "ip_policies list --api-url http://127.0.0.1:1", 4, /cannot reach .*ECONNREFUSED/],
    ["an API URL that is not http", "ip_policies list --api-url ftp://x", 2, /--api-url must be an http/],
  ] as const) {
    it(`postern api ends with exit code ${code} at ${what}`, async () => {
      if (what === "a taken name") await api.ok("POST", "/bot_users", { name: "TAKEN" });
      const stale = what === "a stale tag" ? (await api.ok("POST", "/ip_policies", {})).id : "";
      const args = words === "" ? [] : words.split(" ").map((word) => word.replace("STALE", stale));
      const env = { POSTERN_API_URL: api.baseUrl, POSTERN_API_KEY: api.apiKey };
      const ended = await runSharedCommand(["api", ...args], { cwd: directory, env });
      assert.equal(ended.code, code, ended.stderr);
      assert.match(ended.stderr, sentence);
      assert.equal(ended.stdout, "");
      assert.doesNotMatch(ended.stderr, /\n +at /);
    });
  }

  it("postern api prints help for itself, each resource and each operation", async () => {
    const all = await run("--help");
    assert.match(all.stdout, /^Usage: postern api \[OPTIONS\] RESOURCE VERB \[ID …\]\n/);
    assert.match(all.stdout, /^ {2}ip_policies +create list get update delete test$/m);
    const one = await run("edges/https/routes --help");
    assert.match(one.stdout, /^ {2}update EDGE_ID ID +Change the given attributes/m);
    const operation = await run("edges/https/routes update --help");
    assert.match(operation.stdout, /^Usage: postern api edges\/https\/routes update \[OPTIONS\] EDGE_ID ID\n/);
    assert.match(operation.stdout, /^ {2}--backend\.backend-id TEXT$/m);
  });

  it("postern api has a command for every operation, and no two of its options are equal", () => {
    for (const operation of operations) {
      const command = apiCommand([...wordsOf(operation).split(" "), "--json"]);
      assert.equal(command.name, `api ${wordsOf(operation)}`);
      const flags = Object.values(command.settings).map(({ flag }) => flag);
      assert.equal(
        new Set(flags).size,
        flags.filter((flag) => flag !== undefined).length + (flags.includes(undefined) ? 1 : 0),
      );
    }
  });
});

describe("postern completion", () => {
  const complete = (line: string, script: string): string => {
    const program = `${script}\nCOMP_LINE="$LINE" COMP_POINT=\${#LINE}; _postern; echo "\${COMPREPLY[*]}"`;
    const ended = spawnSync("bash", ["--norc", "-c", program], {
      env: { LINE: line },
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
    assert.equal(ended.stderr, "");
    return ended.stdout.trimEnd();
  };

  it("postern completion completes commands, resources, verbs, options and their values in bash", async () => {
    const { stdout: script } = await runSharedCommand(["completion", "bash"]);
    for (const [line, expected] of [
      ["postern acc", "account"],
      ["postern account ", "create"],
      ["postern api ip_pol", "ip_policies ip_policy_rules"],
      ["postern api ip_policies ", "create list get update delete test"],
      ["postern api ip_policies create --d", "--description --data --dry-run --data-dir"],
      ["postern api ip_policies get ipp_1 --js", "--json"],
      ["postern serve --log-level=d", "debug"],
      ["postern completion z", "zsh"],
      ["postern nothing --x", ""],
    ] as const) {
      assert.equal(complete(line, script), expected, line);
    }
  });

  for (const shell of ["zsh", "fish"]) {
    it(`postern completion completes every operation in ${shell}`, async () => {
      const { stdout } = await runSharedCommand(["completion", shell]);
      for (const operation of operations) assert(stdout.includes(`'api ${wordsOf(operation)}'`), operation.id);
    });
  }

  it("postern completion rejects other shells with exit code 2", async () => {
    const ended = await runSharedCommand(["completion", "csh"]);
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, /no completion for "csh": choose bash, zsh or fish/);
  });
});
