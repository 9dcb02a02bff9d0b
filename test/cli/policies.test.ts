/** `postern policy …` as processes: output, exit codes for pipelines, and files. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { root, runCommand, startCommand } from "../support/command.ts";
import { runSharedCommand } from "../support/shared-command.ts";
import type { Finished } from "../support/command.ts";
import { policyVectors } from "../support/policy-vectors.ts";

const directory = mkdtempSync(join(tmpdir(), "postern-policies-"));
after(() => rmSync(directory, { recursive: true }));

const write = (name: string, text: string): string => {
  writeFileSync(join(directory, name), text);
  return name;
};
const read = (name: string): string => readFileSync(join(directory, name), "utf8");
const policy = (...args: string[]): Promise<Finished> => runSharedCommand(["policy", ...args], { cwd: directory });

const good = write(
  "good.yaml",
  "on_http_request:\n  - expressions: [req.method == 'PUT']\n    actions: [{ type: deny }]\n",
);
const bad = write(
  "bad.yaml",
  "# a comment\non_http_request:\n  - name: first\n    expressions:\n      - req.method = 'GET'\n    actions:\n      - type: denny\n",
);
const doubtful = write(
  "doubtful.yaml",
  good && "on_http_request:\n  - expressions: [conn.geo.city == 'Bern']\n    actions: [{ type: deny }]\n",
);

describe("postern policy check", () => {
  it("postern policy check lists the faults of each file with line and place, and exits with 7 for any fault", async () => {
    const { code, stdout } = await policy("check", good, bad);
    assert.equal(code, 7);
    assert.equal(
      stdout,
      [
        "good.yaml: no errors",
        `bad.yaml:5: error: on_http_request[0].expressions[0]: line 1, column 12: "=" cannot stand here; to compare, write \`==\` (${errorCode("policy_expression_invalid")})`,
        "    req.method = 'GET'",
        "               ^",
        `bad.yaml:7: error: on_http_request[0].actions[0].type: "denny" is unknown; known are: ${stdout.split("known are: ")[1]?.split(";")[0]}; did you mean "deny"? (${errorCode("policy_action_unknown")})`,
        "",
      ].join("\n"),
    );
    assert.deepEqual((await policy("check", good)).code, 0);
  });

  it("postern policy check prints warnings, which are errors in strict mode", async () => {
    const warned = await policy("check", doubtful);
    assert.equal(warned.code, 0);
    assert.match(warned.stdout, /^doubtful\.yaml:2: warning: .*"conn\.geo\.city" is empty unless/);
    assert.match(warned.stdout, /^ {4}conn\.geo\.city == 'Bern'\n {4}\^$/m);
    assert.equal((await policy("check", "--strict", doubtful)).code, 7);
    assert.equal((await policy("check", "--strict", good)).code, 0);
  });

  it("postern policy check reports a file that is too long, and continues with the next one", async () => {
    const long = write("long.yaml", `# ${"a".repeat(70_000)}\n${read(good)}`);
    const { code, stdout } = await policy("check", long, good);
    assert.equal(code, 7);
    assert.match(stdout, /^long\.yaml.*must be at most 65536 bytes/);
    assert.match(stdout, /^good\.yaml: no errors$/m);
    assert.equal((await policy("check", "--json", long, good)).stdout.trim().split("\n").length, 2);
  });

  it("postern policy check uses colours only if they are enabled", async () => {
    assert.ok(!(await policy("check", bad)).stdout.includes("\u001B["));
    const coloured = await runCommand(["policy", "check", bad], { cwd: directory, env: { FORCE_COLOR: "1" } });
    assert.ok(coloured.stdout.includes("\u001B[31merror"), coloured.stdout);
  });

  it("postern policy check reads standard input, and writes one JSON line for each file", async () => {
    const running = startCommand(["policy", "check", "--json", "-"], { stdio: ["pipe", "pipe", "pipe"] });
    running.process.stdin?.end(read(bad));
    const piped = await running.finished;
    assert.equal(piped.code, 7);
    const { file, issues, warnings } = JSON.parse(piped.stdout) as {
      readonly file: string;
      readonly issues: readonly object[];
      readonly warnings: readonly object[];
    };
    assert.deepEqual([file, issues.length, warnings], ["-", 2, []]);
    assert.deepEqual(issues[0], {
      path: "on_http_request[0].expressions[0]",
      message: 'line 1, column 12: "=" cannot stand here; to compare, write `==`',
      line: 5,
      column: 20,
      expression: { line: 1, column: 12 },
      error_code: errorCode("policy_expression_invalid"),
    });
    const both = await policy("check", "--json", good, bad);
    assert.equal(both.stdout.trimEnd().split("\n").length, 2);
  });

  it("postern policy check distinguishes protocols, and rejects files that are not policies", async () => {
    assert.equal((await policy("check", good)).code, 0);
    assert.match((await policy("check", "--protocol", "tcp", good)).stdout, /is not a phase here/);
    const missing = await policy("check", "missing.yaml");
    assert.deepEqual([missing.code, missing.stdout], [2, ""]);
    assert.match(missing.stderr, /^postern: cannot read "missing\.yaml": .*ENOENT/);
    const broken = await policy("check", write("broken.yaml", "on_http_request: [\n"));
    assert.equal(broken.code, 7);
    assert.match(broken.stdout, /^broken\.yaml:\d: error: must be an object in JSON or YAML: it is not valid YAML/);
  });
});

describe("postern policy test", () => {
  const tests = `
policy:
  on_http_request:
    - expressions: ["req.method == 'POST'"]
      actions: [{ type: deny, config: { status_code: 405 } }]
cases:
  - { name: posts, request: { method: POST }, upstream: none, response: { status: STATUS } }
  - { request: { method: GET }, response: { status: 200, body: up } }
`;

  it("postern policy test prints bodies after the rules, and each message of an event stream", async () => {
    const file = write(
      "bodies.yaml",
      `
policy:
  on_http_response:
    - expressions: ["res.content_type == 'text/plain'"]
      actions: [{ type: response-body-find-replace, config: { replacements: [{ from: secret, to: "[x]" }] } }]
  on_event_stream_message:
    - actions: [{ type: sse-find-replace, config: { replacements: [{ from: '[0-9]+', to: n }] } }]
cases:
  - name: body
    upstream_answer: { body: a secret }
    response: { body: "a [x]", headers: { content-length: "5" } }
  - name: messages
    upstream_answer: { headers: { content-type: text/event-stream }, body: "data: 12\\n\\ndata: secret 3\\n\\n" }
    response: { body: "data: n\\n\\ndata: secret n\\n\\n" }
    trace: { phase: on_event_stream_message, outcome: matched }
`,
    );
    const { code, stdout } = await policy("test", file);
    assert.deepEqual([code, stdout], [0, "ok    body\nok    messages\n2 passed, 0 failed\n"]);
  });

  it("postern policy test exits with 0 if all results match, otherwise with 7 and the reason", async () => {
    const right = await policy("test", write("right.yaml", tests.replace("STATUS", "405")));
    assert.deepEqual([right.code, right.stdout], [0, "ok    posts\nok    case 2\n2 passed, 0 failed\n"]);
    const wrong = await policy("test", "right.yaml", write("wrong.yaml", tests.replace("STATUS", "403")));
    assert.equal(wrong.code, 7);
    assert.match(wrong.stdout, /^FAIL {2}wrong\.yaml: posts\n {6}status is 405, expected 403\n {6}\| denied: on_http/m);
    assert.match(wrong.stdout, /^3 passed, 1 failed$/m);
    const json = await policy("test", "--json", "wrong.yaml");
    const { passed, cases } = JSON.parse(json.stdout) as { passed: boolean; cases: { wrong: string[] }[] };
    assert.deepEqual([json.code, passed, cases[0]?.wrong], [7, false, ["status is 405, expected 403"]]);
  });

  for (const [what, change, holds] of [
    ["a misspelt key", ["response:", "reponse:"], /case 1 has the unknown key "reponse"; .*did you mean "response"\?/],
    [
      "a misspelt nested key",
      ["{ status: STATUS }", "{ state: 405 }"],
      /response has the unknown key "state"; .*"status"/,
    ],
    ["a case that expects nothing", [", response: { status: 200, body: up }", ""], /case 2 has no expectation/],
    ["an invalid policy", ["type: deny", "type: denny"], /policy: .*did you mean "deny"\?/],
    ["a file without cases", ["cases:", "about:"], /about must be|the file has no cases/],
    ["a broken file", ["cases:", "cases: ]"], /is not valid YAML/],
    ["an invalid regular expression", ["status: STATUS", "headers: { a: '~(' }"], /"\(" is not a regular expression/],
  ] as const) {
    it(`postern policy test rejects ${what}`, async () => {
      const ended = await policy(
        "test",
        write("odd.yaml", tests.replace(change[0], change[1]).replace("STATUS", "405")),
      );
      assert.deepEqual([ended.code, ended.stdout], [2, ""]);
      assert.match(ended.stderr, holds);
      assert.match(ended.stderr, /^postern: odd\.yaml/);
    });
  }

  it("postern policy test lets cases define secrets, issuers' keys, random numbers, time and endpoints", async () => {
    const text = `
policy:
  on_http_request:
    - expressions: ["getReqHeader('x-key').exists(k, k == secrets.get('shop', 'client'))"]
      actions:
        - type: http-request
          config: { url: "https://auth.internal/who" }
        - type: add-headers
          config: { headers: { x-who: "\${actions.ngrok.http_request.res.body}", x-at: "\${time.now}", x-rand: "\${rand.double()}" } }
secrets: { shop: { client: s3cret } }
online: { "https://auth.internal": { body: ann } }
cases:
  - at: 60s
    rand: 0.25
    request: { headers: { x-key: s3cret } }
    upstream: { headers: { x-who: ann, x-at: "2026-01-02T03:05:05.000Z", x-rand: "0.25" } }
  - { request: { headers: { x-key: other } }, upstream: { headers: { x-who: null } } }
`;
    const ended = await policy("test", write("world.yaml", text));
    assert.equal(ended.code, 0, ended.stdout + ended.stderr);
  });

  it("postern policy test supports visitors who are logged in, and visitors who are not", async () => {
    const file = write(
      "logins.yaml",
      `policy:
  on_http_request:
    - actions: [{ type: oauth, config: { provider: google, email_domains: [example.com] } }]
    - expressions: ["actions.ngrok.oauth.identity.provider_user_id == 'eve'"]
      actions: [{ type: deny, config: { status_code: 451 } }]
    - actions: [{ type: add-headers, config: { headers: { x-who: "\${actions.ngrok.oauth.identity.email}" } } }]
cases:
  - { name: nobody, upstream: none, response: { status: 302 } }
  - { name: ada, visitor: { email: ada@example.com }, upstream: { headers: { x-who: ada@example.com } } }
  - { name: another domain, visitor: { email: ada@example.org }, upstream: none, response: { status: 403 } }
  - { name: unverified, visitor: { email: ada@example.com, email_verified: false }, response: { status: 403 } }
  - { name: eve, visitor: { email: eve@example.com, id: eve }, response: { status: 451 } }
`,
    );
    const { code, stdout } = await policy("test", file);
    assert.equal(code, 0, stdout);
    const odd = write("odd.yaml", read(file).replace("id: eve", "ip: eve"));
    assert.match((await policy("test", odd)).stderr, /visitor/);
  });

  it("postern policy test supports visitors of a SAML provider, with their groups", async () => {
    const file = write(
      "saml.yaml",
      `policy:
  on_http_request:
    - actions:
        - type: saml
          config: { idp_metadata: '<EntityDescriptor entityID="https://id.example"/>', authorized_groups: [staff, board] }
    - expressions: ["'board' in actions.ngrok.saml.groups"]
      actions: [{ type: add-headers, config: { headers: { x-board: "\${actions.ngrok.saml.identity.email}" } } }]
cases:
  - { name: nobody, upstream: none, response: { status: 302 } }
  - { name: staff, visitor: { email: ada@example.com, groups: [staff] }, upstream: { headers: { x-board: null } } }
  - { name: board, visitor: { email: eve@example.com, groups: [board] }, upstream: { headers: { x-board: eve@example.com } } }
  - { name: guest, visitor: { email: ada@example.com, groups: [guests] }, upstream: none, response: { status: 403 } }
`,
    );
    const { code, stdout } = await policy("test", file);
    assert.equal(code, 0, stdout);
    const odd = write("odd.yaml", read(file).replace("[guests]", "guests"));
    assert.match((await policy("test", odd)).stderr, /groups must be a list/);
  });

  it("postern policy test runs every case of the specification that needs no network", async () => {
    const name = write("vectors.yaml", policyVectors());
    const ended = await policy("test", name);
    assert.deepEqual(ended.stdout.match(/^FAIL.*$/gm) ?? [], [], ended.stdout + ended.stderr);
    assert.match(ended.stdout, /^45 passed, 0 failed$/m);
  });
});

describe("postern policy fmt", () => {
  const old = `# who may write
outbound:
  - actions:
      - config: { headers: { x-city: "\${conn.Geo.City}/\${conn.ClientIP}" }, }   # where
        type: add-headers
inbound:
  # only these
  - actions:
      - type: custom-response
        config:
          content: no
          status_code: 403
    expressions:
      - req.Method == 'PUT' && has(req.Headers)   # old
    name: writers
enabled: true
`;
  const present = `enabled: true
on_http_request:
  # only these
  - name: writers
    expressions:
      - req.method == 'PUT' && has(req.headers) # old
    actions:
      - type: custom-response
        config:
          body: no
          status_code: 403
# who may write
on_http_response:
  - actions:
      - type: add-headers
        config: { headers: { x-city: "\${conn.geo.city}/\${conn.client_ip}" } } # where
`;

  it("postern policy fmt orders a file and uses current names, and preserves its comments", async () => {
    const file = write("old.yaml", old.replace("content: no", "content: 'no'"));
    const checked = await policy("fmt", "--check", file, good);
    assert.deepEqual([checked.code, checked.stdout], [7, "old.yaml\n"]);
    assert.match(read(file), /^# who may write\noutbound/);
    const written = await policy("fmt", file, good);
    assert.deepEqual([written.code, written.stdout], [0, "old.yaml\n"]);
    assert.equal(read(file), present.replace("body: no", "body: 'no'"));
    assert.deepEqual((await policy("fmt", "--check", file)).code, 0);
    assert.equal((await policy("check", file)).code, 0);
  });

  it("postern policy fmt renames logins to their current names", async () => {
    const config = "issuer_url: https://a.example, client_id: a, client_secret: b, idle_session_timeout: 1h";
    const older = write("older.yaml", `on_http_request:\n  - actions: [{ type: oidc, config: { ${config} } }]\n`);
    assert.equal((await policy("fmt", older)).code, 0);
    assert.match(read(older), /type: openid-connect/);
    assert.match(read(older), /idle_session_duration: 1h/);
    assert.equal((await policy("check", older)).code, 0);
  });

  it("postern policy fmt preserves JSON, and writes standard input to standard output", async () => {
    const running = startCommand(["policy", "fmt", "-"], { stdio: ["pipe", "pipe", "pipe"] });
    running.process.stdin?.end('{"inbound":[{"actions":[{"type":"deny"}],"expressions":["req.Method==\'PUT\'"]}]}');
    const { code, stdout } = await running.finished;
    assert.equal(code, 0);
    const formatted = {
      on_http_request: [{ expressions: ["req.method=='PUT'"], actions: [{ type: "deny" }] }],
    };
    assert.equal(stdout, `${JSON.stringify(formatted, undefined, 2)}\n`);
  });

  it("postern policy fmt reports an invalid file, and leaves it unchanged", async () => {
    const before = read(bad);
    const ended = await policy("fmt", bad);
    assert.deepEqual([ended.code, ended.stdout, read(bad)], [7, "", before]);
    assert.match(ended.stderr, /bad\.yaml:5: error: /);
  });
});

describe("postern policy explain", () => {
  it("postern policy explain explains each rule, with the values that decided", async () => {
    const file = write(
      "explained.yaml",
      "on_http_request:\n  - name: tiers\n    expressions: [\"'gold' in getReqHeader('x-tier')\"]\n    actions: [{ type: deny, config: { status_code: 418 } }]\n",
    );
    const gold = await policy("explain", file, "GET", "https://a.example/x?y=1", "-H", "X-Tier: gold");
    assert.equal(gold.code, 0, gold.stderr);
    assert.match(gold.stdout, /^✗ on_http_request\[0\] "tiers": deny: .*418/m);
    assert.match(
      gold.stdout,
      /^ {4}'gold' in getReqHeader\('x-tier'\) {2}→ true\n {6}getReqHeader\('x-tier'\) = \["gold"\]/m,
    );
    assert.match(gold.stdout, /^answered: 418$/m);
    const other = await policy("explain", file, "GET", "https://a.example/x?y=1");
    assert.match(other.stdout, /→ false/);
    assert.match(other.stdout, /^sent upstream as \/x\?y=1, with$/m);
    const json = JSON.parse((await policy("explain", "--json", file, "GET", "https://a.example/")).stdout) as {
      readonly steps: readonly { readonly rule?: object }[];
      readonly outcome: { readonly status: number };
    };
    assert.deepEqual([json.outcome.status, json.steps[0]?.rule !== undefined], [200, true]);
  });

  it("postern policy explain explains connections, and reports what it cannot explain", async () => {
    write(
      "tcp.yaml",
      "on_tcp_connect:\n  - expressions: [conn.client_ip == '192.0.2.1']\n    actions: [{ type: deny }]\n",
    );
    assert.match(
      (await policy("explain", "tcp.yaml", "tcp://db.example:5432", "--ip", "192.0.2.1")).stdout,
      /^closed$/m,
    );
    assert.match((await policy("explain", "tcp.yaml", "tcp://db.example:5432")).stdout, /^let in$/m);
    write(
      "tls.yaml",
      "on_tcp_connect:\n  - expressions: [conn.tls.sni == 'db.example']\n    actions: [{ type: deny }]\n",
    );
    assert.match((await policy("explain", "tls.yaml", "tls://db.example")).stdout, /^closed$/m);
    assert.match((await policy("explain", "tls.yaml", "tls://other.example")).stdout, /^let in$/m);
    assert.deepEqual([(await policy("explain", bad, "GET", "https://a.example")).code], [7]);
    assert.deepEqual([(await policy("explain", good, "GET", "ftp://a.example")).code], [2]);
    const ips = write(
      "ips.yaml",
      "on_http_request:\n  - actions: [{ type: restrict-ips, config: { ip_policies: [ipp_1] } }]\n",
    );
    const refused = await policy("explain", ips, "GET", "https://a.example");
    assert.match(refused.stderr, /^postern: find IP policy "ipp_1": objects of accounts are not available here$/m);
  });
});

it("postern policy schema prints the published schema", async () => {
  const { stdout } = await policy("schema");
  assert.deepEqual(JSON.parse(stdout), JSON.parse(readFileSync(`${root}docs/reference/policy.schema.json`, "utf8")));
});
