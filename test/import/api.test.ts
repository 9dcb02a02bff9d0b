/** `postern import api`: after the import of a full server, an empty server makes the same decisions about traffic. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { documentKinds } from "../../src/api/documents/document.ts";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { createServer } from "../../src/lib/http.ts";
import { parseYamlObject } from "../../src/lib/yaml.ts";
import { makeProviderKeys, metadataXml } from "../support/saml-idp.ts";
import { runSharedCommand } from "../support/shared-command.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";

const directory = mkdtempSync(join(tmpdir(), "postern-import-api-"));
after(() => rmSync(directory, { recursive: true }));

const authority = await createAuthority({ commonName: "Test CA", now: Date.now() });
const leaf = await issueLeaf(authority, { names: ["docs.example.com"], now: Date.now(), days: 30 });
const keys = await makeProviderKeys();
const metadata = metadataXml({ certificates: [keys.certificatePem], redirect: "https://idp.example/sso" });

/** At least one object of every kind, and several of those that affect traffic. */
function everything(port: number): Record<string, Record<string, unknown>> {
  const route = (match: string, fields: object, type = "path_prefix") => ({
    edge_id: "shop",
    match_type: type,
    match,
    backend: { backend_id: "page" },
    ...fields,
  });
  const policy = JSON.stringify({
    on_http_request: [
      {
        expressions: ["req.url.path.startsWith('/policy/no')"],
        actions: [{ type: "deny", config: { status_code: 451 } }],
      },
      { actions: [{ type: "basic-auth", config: { credentials: ["ann:long-password"] } }] },
    ],
  });
  return {
    bot_user: { ci: { name: "ci" } },
    ip_policy: { office: { description: "Office" }, nowhere: { description: "Nowhere" } },
    ip_policy_rule: {
      loopback: { ip_policy_id: "office", cidr: "127.0.0.0/8", action: "allow" },
      other: { ip_policy_id: "nowhere", cidr: "192.0.2.0/24", action: "allow" },
    },
    ip_restriction: { api: { type: "dashboard", ip_policy_ids: ["office"], enforced: true } },
    certificate_authority: { clients: { ca_pem: authority.certificatePem, description: "clients" } },
    tls_certificate: { leaf: { certificate_pem: leaf.certificatePem, private_key_pem: leaf.keyPem } },
    reserved_domain: { domain: { domain: "docs.example.com", certificate_id: "leaf" } },
    reserved_addr: { spare: { description: "spare" } },
    tunnel_group_backend: { web: { labels: { app: "web" } } },
    http_response_backend: {
      page: { body: "page", headers: { "x-page": "1" } },
      gone: { status_code: 410, body: "gone" },
    },
    ssh_credential: {
      laptop: {
        public_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINckRlTWPy+E9WS7Iq1tLbx1ilBFGO9iBHT00sn9k+Du",
        acl: ["bind:*.example.com"],
      },
    },
    ssh_certificate_authority: {
      company: { public_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKhExgZe829nB9u8dAwpmj9a1PG5uCxdk6aaHYDvKgvP" },
    },
    static_backend: { service: { address: `127.0.0.1:${port}` } },
    failover_backend: { both: { backends: ["web", "service"] } },
    weighted_backend: { split: { backends: { page: 0, gone: 1 } } },
    https_edge: {
      shop: { hostports: ["shop.example.com:443"], tls_termination: { min_version: "1.2" } },
      docs: {
        hostports: ["docs.example.com:443"],
        mutual_tls: { enabled: false, certificate_authority_ids: ["clients"] },
      },
    },
    https_edge_route: {
      root: route("/", {
        request_headers: { add: { "x-from": "edge" }, remove: ["x-secret"] },
        backend: { backend_id: "both" },
      }),
      "office-route": route("/office", { ip_restriction: { ip_policy_ids: ["office"] } }),
      "nowhere-route": route("/nowhere", { ip_restriction: { ip_policy_ids: ["nowhere"] } }),
      exact: route("/exact", { backend: { backend_id: "split" } }, "exact_path"),
      hook: route("/hook", { webhook_verification: { provider: "github", secret: "hook-secret" } }),
      agents: route("/agents", { user_agent_filter: { allow: [], deny: ["bad-bot"] } }),
      oauth: route("/oauth", {
        oauth: {
          provider: {
            github: {
              client_id: "id",
              client_secret: "oauth secret with 'quotes'",
              scopes: ["read:org", "user:email"],
              email_domains: ["example.com"],
            },
          },
        },
      }),
      oidc: route("/oidc", {
        oidc: { issuer: "https://id.example.com", client_id: "id", client_secret: "oidc-secret" },
      }),
      saml: route("/saml", { saml: { idp_metadata: metadata } }),
      policy: route("/policy", { traffic_policy: { value: policy } }),
      squeezed: route("/squeezed", {
        compression: {},
        websocket_tcp_converter: {},
        circuit_breaker: { error_threshold_percentage: 0.5 },
        response_headers: { add: { "x-response": "1" } },
      }),
    },
    tls_edge: {
      tls: {
        hostports: ["tls.example.com:443"],
        backend: { backend_id: "web" },
        tls_termination: { terminate_at: "upstream" },
      },
    },
    tcp_edge: {
      tcp: {
        hostports: ["tcp.example.com:20022"],
        backend: { backend_id: "web" },
        ip_restriction: { ip_policy_ids: ["office"] },
      },
    },
    vault: { keys: { name: "keys" } },
    secret: { one: { name: "one", value: "the secret", vault_id: "keys" } },
    event_destination: { audit: { target: { datadog: { api_key: "0123456789abcdef", ddsite: "datadoghq.eu" } } } },
    event_subscription: { writes: { sources: [{ type: "ip_policy_created.v0" }], destination_ids: ["audit"] } },
    cloud_endpoint: {
      maintenance: {
        url: "https://maintenance.example.com",
        type: "cloud",
        traffic_policy: JSON.stringify({
          on_http_request: [{ actions: [{ type: "custom-response", config: { status_code: 503, body: "later" } }] }],
        }),
      },
    },
  };
}

const requests: readonly (readonly [path: string, headers?: Record<string, string>])[] = [
  ["/"],
  ["/any/path?query=1"],
  ["/", { "x-secret": "1" }],
  ["/office"],
  ["/nowhere"],
  ["/nowhere/below"],
  ["/exact"],
  ["/exact/not"],
  ["/hook"],
  ["/agents", { "user-agent": "bad-bot/1" }],
  ["/agents", { "user-agent": "curl" }],
  ["/oauth"],
  ["/oidc"],
  ["/saml"],
  ["/policy"],
  ["/policy/no"],
  ["/policy", { authorization: `Basic ${btoa("ann:long-password")}` }],
  ["/policy", { authorization: `Basic ${btoa("ann:wrong-password")}` }],
  ["/squeezed"],
];

describe("postern import api", () => {
  const service = createServer((request, response) => {
    response.end(
      JSON.stringify({ path: request.url, from: request.headers["x-from"], secret: request.headers["x-secret"] }),
    );
  });
  let source: TestPlatform;
  let target: TestPlatform;
  before(async () => {
    service.listen(0, "127.0.0.1");
    await once(service, "listening");
    const options = { allowLocalUpstreams: true, domain: "t.example.com" } as const;
    source = await startPlatform(options, 1);
    target = await startPlatform(options, 1);
    const objects = everything((service.address() as AddressInfo).port);
    assert.deepEqual(Object.keys(objects).toSorted(), documentKinds.map(({ name }) => name).toSorted());
    const applied = await source.api("POST", "/apply", { document: "source", objects });
    assert.equal(applied.status, 200, applied.text);
    assert.equal(
      (await source.api("POST", "/credentials", { description: "laptop's", acl: ["bind:*.example.com"] })).status,
      201,
    );
  });
  after(async () => {
    await Promise.all([source.stop(), target.stop()]);
    service.close();
  });

  const postern = (args: readonly string[], of: TestPlatform = target) =>
    runSharedCommand(args, { cwd: directory, env: { POSTERN_API_URL: of.apiUrl, POSTERN_API_KEY: of.apiKey } });
  const importLive = (out: string, ...more: string[]) => {
    writeFileSync(join(directory, "key.txt"), `${source.apiKey}\n`);
    return postern(["import", "api", "--from", source.apiUrl, "--key-file", "key.txt", "--out", out, ...more]);
  };
  /** Returns a server's decision about a request, without its own ids and names. */
  const decisions = async (platform: TestPlatform) => {
    const { https_edges: edges } = (await platform.api("GET", "/edges/https")).body;
    const shop = edges.find(({ hostports }: { hostports: string[] }) => hostports[0] === "shop.example.com:443");
    const found: unknown[][] = [];
    for (const [path, headers = {}] of requests) {
      const explained = await platform.api("POST", `/edges/https/${shop.id}/explain`, {
        path,
        headers,
        source_ip: "127.0.0.1",
      });
      assert.equal(explained.status, 200, explained.text);
      const { outcome, steps } = explained.body;
      const answer = await platform.request(`https://shop.example.com${path}`, { headers });
      const text = answer.status < 300 || answer.status === 410 ? answer.body.toString() : "";
      const taken = JSON.stringify(steps)
        .replaceAll(/\b[a-z]+_[0-9a-z]{27}\b/g, "ID")
        .replaceAll(/"revision":\d+|:\d+\/oauth2\/callback[^"]*/g, "");
      found.push([path, outcome, taken, answer.status, text, answer.headers["x-page"], answer.headers["x-response"]]);
    }
    const later = await platform.request("https://maintenance.example.com/");
    found.push([later.status, later.body.toString()]);
    return found;
  };

  it("postern import api gives an empty server the same decisions about traffic, and a second import plans no change", async () => {
    const imported = await importLive("live");
    assert.equal(imported.code, 0, imported.stdout + imported.stderr);
    const refused = await postern(["plan", "live/document.yaml"]);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /reads \d+ variables that have no value:\n {2}objects\./);
    assert.match(refused.stderr, /tls_certificate\.[\w.-]+\.private_key_pem: set IMPORT_\w+, and allow it/);
    const unfilled = await postern(["plan", "live/document.yaml", "--env-file", "live/secrets.env"]);
    assert.equal(unfilled.code, 2);
    assert.match(unfilled.stderr, /private_key_pem: IMPORT_\w+ is not set/);
    const secrets = fillIn(join(directory, "live/secrets.env"));
    const applied = await postern(["apply", "live/document.yaml", "--env-file", secrets]);
    assert.equal(applied.code, 0, applied.stderr);
    const decided = await decisions(source);
    const statuses = new Set(decided.map((one) => (one.length > 2 ? one[3] : one[0])));
    assert.ok(new Set([200, 302, 401, 403, 410, 451, 503]).isSubsetOf(statuses), [...statuses].join());
    assert.deepEqual(await decisions(target), decided);
    const again = await importLive("again", "--json");
    assert.equal(again.code, 0, again.stderr);
    assert.equal(
      readFileSync(join(directory, "again/document.yaml"), "utf8"),
      readFileSync(join(directory, "live/document.yaml"), "utf8"),
    );
    const planned = await postern(["plan", "again/document.yaml", "--env-file", secrets]);
    assert.deepEqual([planned.code, planned.stderr], [0, ""], planned.stdout);
  });

  it("postern import api reports each field once, and names what it cannot import", async () => {
    const { stdout } = await importLive("report", "--json");
    const { report } = JSON.parse(stdout) as {
      report: { key: string; kind: string; text: string; place: { file: string; pointer: string } }[];
    };
    const places = report.map(({ place, key }) => `${place.file}#${place.pointer} ${key}`);
    assert.deepEqual(
      places.filter((place, index) => places.indexOf(place) !== index),
      [],
    );
    const textOf = (pattern: RegExp): string => report.find(({ text }) => pattern.test(text))?.text ?? "";
    assert.match(textOf(/laptop/), /'\{"description":"laptop'\\''s","acl":\["bind:\*\.example\.com"\]\}'$/);
    assert.match(textOf(/POST \/reserved_addrs/), /chooses the port/);
    assert.match(textOf(/entity ID/), /register/);
    assert.ok(report.every(({ text }) => text.length > 10));
    assert.ok(!stdout.includes("hook-secret") && !stdout.includes("oidc-secret"), "secrets are not printed");
  });

  it("postern import api does not overwrite other content without --force", async () => {
    mkdirSync(join(directory, "kept"));
    writeFileSync(join(directory, "kept/document.yaml"), "mine");
    const refused = await importLive("kept");
    assert.equal(refused.code, 2);
    assert.match(
      refused.stderr,
      /"kept\/document\.yaml" exists with other content: choose another folder with --out, or overwrite with --force/,
    );
    assert.equal(readFileSync(join(directory, "kept/document.yaml"), "utf8"), "mine");
    assert.equal((await importLive("kept", "--force")).code, 0);
  });

  it("postern import api of a folder of saved responses creates the same document as the live API", async () => {
    const folder = join(directory, "saved");
    mkdirSync(folder);
    const paths = [
      "/edges/https",
      "/edges/tls",
      "/edges/tcp",
      "/ip_policies",
      "/ip_policy_rules",
      "/ip_restrictions",
      "/bot_users",
      "/certificate_authorities",
      "/tls_certificates",
      "/reserved_domains",
      "/reserved_addrs",
      "/backends/tunnel_group",
      "/backends/http_response",
      "/backends/static",
      "/backends/failover",
      "/backends/weighted",
      "/vaults",
      "/vault_secrets",
      "/event_destinations",
      "/event_subscriptions",
      "/endpoints",
      "/credentials",
      "/ssh_credentials",
      "/ssh_certificate_authorities",
    ];
    for (const path of paths) {
      const { text } = await source.api("GET", path);
      writeFileSync(join(folder, `${path.replaceAll("/", "_")}.json`), text);
    }
    const imported = await postern(["import", "api", "saved", "--out", "from-saved"]);
    assert.equal(imported.code, 0, imported.stderr);
    const read = (name: string) => parseYamlObject(readFileSync(join(directory, name, "document.yaml"), "utf8"));
    assert.deepEqual(read("from-saved"), read("live"));
  });

  for (const [what, name, text, code, pattern] of [
    [
      "a field that guards",
      "guard.json",
      '{"https_edges":[{"id":"edghts_1","hostports":["a.example.com:443"],"new_guard":{"on":true}}]}',
      8,
      /guard\.json#\/https_edges\/0\/new_guard .*new_guard: ! the field is unknown/,
    ],
    [
      "a page that is missing",
      "page.json",
      '{"ip_policies":[],"next_page_uri":"https://a.example/ip_policies?before_id=x"}',
      8,
      /another page, which is not in the folder/,
    ],
    [
      "an object of an unknown kind",
      "kind.json",
      '{"ssh_user_certificates":[{"id":"sucrt_1"}]}',
      0,
      /sucrt_1: Postern has no objects of this kind \("sucrt"\)/,
    ],
    [
      "deep nesting",
      "deep.json",
      `{"a":${"[".repeat(2000)}${"]".repeat(2000)}}`,
      2,
      /deep\.json: the file is nested deeper than 32/,
    ],
    ["broken JSON", "broken.json", '{"a":', 2, /broken\.json: the file is not valid JSON/],
    ["a prototype", "proto.json", '{"ip_policies":[{"id":"ipp_1","__proto__":{}}]}', 2, /has the name "__proto__"/],
  ] as const) {
    it(`postern import api of a folder with ${what} exits with code ${code}`, async () => {
      const folder = join(directory, name.replace(".json", ""));
      mkdirSync(folder);
      writeFileSync(join(folder, name), text);
      const ended = await postern(["import", "api", folder, "--out", `${folder}-out`]);
      assert.equal(ended.code, code, ended.stdout + ended.stderr);
      assert.match(ended.stdout + ended.stderr, pattern);
    });
  }

  it("postern import api omits a certificate that the service issued, and references to it", async () => {
    const folder = join(directory, "issued");
    mkdirSync(folder);
    const certificate = { id: "cert_1", issued_at: "2026-01-01T00:00:00Z", certificate_pem: leaf.certificatePem };
    const automatic = { authority: "letsencrypt", private_key_type: "ecdsa" };
    const domains = [
      {
        id: "rd_1",
        domain: "auto.example.com",
        certificate: { id: "cert_1" },
        certificate_management_policy: automatic,
      },
      { id: "rd_2", domain: "name.ngrok.app", certificate: { id: "cert_1" }, certificate_management_policy: null },
    ];
    writeFileSync(join(folder, "domains.json"), JSON.stringify({ reserved_domains: domains }));
    writeFileSync(join(folder, "certificates.json"), JSON.stringify({ tls_certificates: [certificate] }));
    const ended = await postern(["import", "api", folder, "--out", "issued-out"]);
    assert.equal(ended.code, 0, ended.stderr);
    assert.match(
      ended.stdout,
      /- certificates\.json#\/tls_certificates\/0 cert_1: the service issued this certificate/,
    );
    assert.match(
      ended.stdout,
      /~ domains\.json#\/reserved_domains\/1\/domain .*: name\.ngrok\.app belongs to the hosted service/,
    );
    const { objects } = parseYamlObject(readFileSync(join(directory, "issued-out/document.yaml"), "utf8"));
    assert.deepEqual(objects, {
      reserved_domain: {
        "reserved-domain-auto.example.com": { domain: "auto.example.com", certificate_management_policy: {} },
        "reserved-domain-name.ngrok.app": { domain: "name.ngrok.app" },
      },
    });
  });

  it("postern import api of a folder rejects links, and folders without responses", async () => {
    const folder = join(directory, "links");
    mkdirSync(folder);
    assert.match((await postern(["import", "api", folder])).stderr, /has no \.json files/);
    symlinkSync("/etc/hostname", join(folder, "link.json"));
    assert.match((await postern(["import", "api", folder])).stderr, /link\.json: this is not a regular file/);
  });

  for (const name of ["nginx", "traefik"]) {
    it(`postern import ${name} reports that it is not supported`, async () => {
      const ended = await postern(["import", name, "any.conf"]);
      assert.deepEqual([ended.code, ended.stdout], [2, ""]);
      assert.match(ended.stderr, new RegExp(`postern cannot import ${name} configuration yet`));
    });
  }
});

/** Writes the values that the API does not reveal, as a user would. Returns the path of the new file. */
function fillIn(path: string): string {
  const filled = readFileSync(path, "utf8")
    .replace(/^(IMPORT_\w*PRIVATE_KEY_PEM)=$/gm, (_, name: string) => `${name}='${leaf.keyPem}'`)
    .replace(/^(IMPORT_SECRET_\w*VALUE)=$/gm, (_, name: string) => `${name}='the secret'`);
  writeFileSync(`${path}.filled`, filled);
  return `${path}.filled`;
}
