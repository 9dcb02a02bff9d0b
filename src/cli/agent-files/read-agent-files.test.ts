import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileTunnels } from "../agent/file-tunnels.ts";
import { tunnelSettings } from "../../settings/tunnels.ts";
import { agentKeys, endpointKeys, tunnelKeys } from "./agent-file-keys.ts";
import type { KeyRow } from "./agent-file-keys.ts";
import { readAgentFiles } from "./read-agent-files.ts";

const directory = mkdtempSync(join(tmpdir(), "postern-agent-files-"));
after(() => rmSync(directory, { recursive: true }));
writeFileSync(join(directory, "some.pem"), "PEM");
writeFileSync(join(directory, "policy.yml"), "on_http_request: []");

function read(...texts: readonly string[]) {
  const paths = texts.map((text, at) => {
    const path = join(directory, `${at}.yml`);
    writeFileSync(path, text);
    return path;
  });
  const files = readAgentFiles(paths);
  const { tunnels, issues } = fileTunnels(files);
  return {
    files,
    value: (setting: string) => files.values.get(setting)?.texts.join(),
    tunnels: tunnels.flatMap((one) => one.tunnels),
    issues: issues.map(({ line, column, message }) => `${line}:${column}: ${message}`),
  };
}
/** Returns the only tunnel of a valid file. */
function tunnelOf(text: string) {
  const { tunnels, issues } = read(text);
  assert.deepEqual(issues, []);
  assert.equal(tunnels.length, 1);
  return tunnels[0] as (typeof tunnels)[number];
}

/** The SDKs' equivalents (agent-protocol, "Options of a tunnel"). */
const options: readonly (readonly [lines: string, sent: object])[] = [
  [
    'basic_auth: ["ann:longenough"]',
    { BasicAuth: { credentials: [{ username: "ann", cleartext_password: "longenough" }] } },
  ],
  ["circuit_breaker: 0.5", { CircuitBreaker: { error_threshold: 0.5 } }],
  ["upstream_timeout: 1h30m", { Forwarding: { response_timeout: 5400, encoded_slashes: false } }],
  ["encoded_slashes: true", { Forwarding: { response_timeout: 0, encoded_slashes: true } }],
  ["encoded_slashes: false", {}],
  ["compression: true", { Compression: {} }],
  ["compression: false", {}],
  [
    "ip_restriction: { allow_cidrs: [192.0.2.0/24] }",
    { IPRestriction: { allow_cidrs: ["192.0.2.0/24"], deny_cidrs: [] } },
  ],
  [
    "ip_restriction: { deny_cidrs: [2001:db8::/32] }",
    { IPRestriction: { allow_cidrs: [], deny_cidrs: ["2001:db8::/32"] } },
  ],
  ["cidr_deny: 192.0.2.1/32", { IPRestriction: { allow_cidrs: [], deny_cidrs: ["192.0.2.1/32"] } }],
  ["mutual_tls_cas: some.pem", { MutualTLSCA: { mutual_tls_ca: btoa("PEM") } }],
  [
    "oauth: { provider: google, allow_emails: [a@b.example], allow_domains: [b.example], scopes: [email] }",
    {
      OAuth: {
        provider: "google",
        client_id: "",
        client_secret: "",
        scopes: ["email"],
        allow_emails: ["a@b.example"],
        allow_domains: ["b.example"],
      },
    },
  ],
  [
    "oidc: { issuer_url: https://id.example, client_id: me, client_secret: it, scopes: [openid], allow_domains: [b.example] }",
    {
      OIDC: {
        issuer_url: "https://id.example",
        client_id: "me",
        client_secret: "it",
        scopes: ["openid"],
        allow_emails: [],
        allow_domains: ["b.example"],
      },
    },
  ],
  [
    "saml: { idp_metadata: <EntityDescriptor/>, authorized_groups: [staff], force_authn: true, allow_idp_initiated: false }",
    {
      SAML: {
        idp_metadata: "<EntityDescriptor/>",
        authorized_groups: ["staff"],
        force_authn: true,
        allow_idp_initiated: false,
      },
    },
  ],
  ["verify_webhook: { provider: github, secret: s3 }", { WebhookVerification: { provider: "github", secret: "s3" } }],
  ['request_header: { add: ["a:b"], remove: [c] }', { RequestHeaders: { add: ["a:b"], remove: ["c"] } }],
  ['response_header: { add: ["a:b"], remove: [c] }', { ResponseHeaders: { add: ["a:b"], remove: ["c"] } }],
  [
    "user_agent_filter: { allow: [Mozilla], deny: [curl] }",
    { UserAgentFilter: { allow: ["Mozilla"], deny: ["curl"] } },
  ],
  [
    "capture: { enabled: true, sample: 0.5, redact_headers: [X-Key], redact_query: [token] }",
    { Capture: { enabled: true, sample: 0.5, redact_headers: ["x-key"], redact_query: ["token"] } },
  ],
  ["capture: { enabled: false }", { Capture: { enabled: false } }],
  ["websocket_tcp_converter: true", { WebsocketTCPConverter: {} }],
  ["host_header: rewrite", { RequestHeaders: { add: ["host:localhost:3000"], remove: [] } }],
  ["host_header: preserve", {}],
  ["host_header: app.local", { RequestHeaders: { add: ["host:app.local"], remove: [] } }],
  ["inspect: false", {}],
];

describe("a file for an agent", () => {
  for (const [lines, sent] of options) {
    it(`a file for an agent with ${lines} is converted to the protocol's members, in all formats`, () => {
      for (const head of ["", 'version: "2"\n']) {
        assert.deepEqual(
          tunnelOf(`${head}tunnels:\n  web:\n    proto: http\n    addr: 3000\n    ${lines}\n`).options,
          sent,
        );
      }
      const third = `version: 3\nendpoints:\n  - name: web\n    upstream: { url: 3000 }\n    ${lines}\n`;
      assert.deepEqual(tunnelOf(third).options, sent);
    });
  }

  for (const [lines, expected] of [
    ["domain: a.example", { publish: { kind: "url", url: "a.example" } }],
    ["hostname: a.example", { publish: { kind: "url", url: "a.example" } }],
    ["subdomain: shop", { publish: { kind: "url", url: undefined, subdomain: "shop" } }],
    ["schemes: [http]", { proto: "http" }],
    ["metadata: mine", { metadata: "mine" }],
    ["description: the shop", { description: "the shop" }],
    ["proxy_proto: 2", { proxyProtocol: 2 }],
    ['proxy_proto: ""', { proxyProtocol: 0 }],
    ["traffic_policy: { on_http_request: [] }", { trafficPolicy: '{"on_http_request":[]}' }],
    ["traffic_policy_file: policy.yml", { trafficPolicy: "on_http_request: []" }],
    ["policy: { inbound: [] }", { trafficPolicy: '{"inbound":[]}' }],
    ["pooling_enabled: true", { pooling: true }],
    ["bindings: [internal]", { bindings: ["internal"] }],
  ] as const) {
    it(`a file of version 2 with ${lines} sets the option`, () => {
      const tunnel = tunnelOf(`version: 2\ntunnels:\n  web:\n    proto: http\n    addr: 3000\n    ${lines}\n`);
      assert.deepEqual({ ...tunnel, ...expected }, tunnel);
    });
  }

  it("a file of version 2 can have tunnels of every protocol, and with labels", () => {
    const { tunnels, issues } = read(`version: "2"
tunnels:
  ssh: { proto: tcp, addr: 22, remote_addr: "t.example.com:20022" }
  mail: { proto: tls, addr: 993, domain: mail.example, terminate_at: edge, crt: some.pem, key: some.pem }
  behind: { addr: 8000, labels: [env=prod, team=infra] }
  both: { proto: http, addr: 80, schemes: [http, https], domain: shop.example }
`);
    assert.deepEqual(issues, []);
    assert.deepEqual(
      tunnels.map(({ name, proto, publish }) => [name, proto, publish]),
      [
        ["ssh", "tcp", { kind: "url", url: "t.example.com:20022" }],
        ["mail", "tls", { kind: "url", url: "mail.example" }],
        ["behind", "https", { kind: "labels", labels: { env: "prod", team: "infra" } }],
        ["both", "https", { kind: "url", url: "shop.example" }],
        ["both (http)", "http", { kind: "url", url: "shop.example" }],
      ],
    );
    assert.deepEqual(tunnels[1]?.options, { TLSTermination: { cert: btoa("PEM"), key: btoa("PEM") } });
  });

  for (const [url, proto, place] of [
    ["app.example.com", "https", "app.example.com"],
    ["https://app.example.com", "https", "https://app.example.com"],
    ["http://app.example.com", "http", "http://app.example.com"],
    ["tcp://t.example.com:20022", "tcp", "tcp://t.example.com:20022"],
    ["tls://app.example.com", "tls", "tls://app.example.com"],
    ["tcp://", "tcp", undefined],
    ["http://", "http", undefined],
    ["", "https", undefined],
  ] as const) {
    it(`an endpoint of version 3 at "${url}" uses ${proto}`, () => {
      const line = url === "" ? "" : `    url: ${url}\n`;
      const tunnel = tunnelOf(`version: 3\nendpoints:\n  - name: one\n${line}    upstream: { url: 3000 }\n`);
      assert.deepEqual([tunnel.proto, tunnel.publish], [proto, { kind: "url", url: place }]);
    });
  }

  it("an endpoint of version 3 sets the protocol of its service", () => {
    const upstream = "upstream: { url: 50051, protocol: http2, proxy_protocol: 1 }";
    const tunnel = tunnelOf(`version: 3\nendpoints:\n  - name: rpc\n    ${upstream}\n`);
    assert.deepEqual([tunnel.upstream.http2, tunnel.proxyProtocol], [true, 1]);
  });

  it("a file for an agent sets the agent's own options, at the top or below agent:", () => {
    for (const [head, indent] of [
      ['version: "2"\n', ""],
      ["version: 3\nagent:\n", "  "],
    ]) {
      const lines = [
        "authtoken: token",
        "connect_timeout: 30s",
        "console_ui: false",
        "dns_resolver_ips: [192.0.2.53]",
        "heartbeat_interval: 1m",
        "heartbeat_tolerance: 5s",
        "log_level: crit",
        "log_format: logfmt",
        "log: /var/log/agent.log",
        "metadata: box 7",
        "proxy_url: socks5://127.0.0.1:9150",
        "remote_management: false",
        "update_check: false",
        "web_addr: localhost:4041",
        "web_allow_hosts: [8.8.8.8, example.com, .example.org, 10.0.0.0/8]",
        "inspect_db_size: 104857600",
        "api_key: key",
        "console_ui_color: transparent",
        "crl_noverify: true",
        head === 'version: "2"\n' ? "server_addr: t.example.com:443" : "connect_url: t.example.com:443",
        head === 'version: "2"\n' ? "root_cas: host" : "connect_cas: host",
      ];
      const { issues, value } = read(`${head}${lines.map((line) => `${indent}${line}\n`).join("")}`);
      assert.deepEqual(issues, []);
      assert.deepEqual(
        ["connectTimeout", "screen", "logLevel", "logFormat", "sessionMetadata", "server", "ca", "log"].map(value),
        ["30s", "off", "error", "text", "box 7", "t.example.com:443", "system", "/var/log/agent.log"],
      );
      assert.deepEqual(["inspector", "inspectorHost", "inspectDbSize", "apiKey"].map(value), [
        "localhost:4041",
        "8.8.8.8,example.com,.example.org,10.0.0.0/8",
        "104857600",
        "key",
      ]);
    }
  });

  it("several files for an agent override one another key by key, and lists as a whole", () => {
    const { tunnels, value } = read(
      "server: a.example\ntunnels: { web: { addr: 1, basic_auth: [ann:longenough], compression: true }, one: { addr: 5 } }",
      'version: "2"\nserver_addr: b.example\ntunnels: { web: { addr: 2, basic_auth: [bob:longenough] }, two: { addr: 6 } }',
    );
    assert.equal(value("server"), "b.example");
    assert.deepEqual(
      tunnels.map(({ name, upstream, options: sent }) => [name, upstream.port, Object.keys(sent ?? {}).join()]),
      [
        ["web", 2, "BasicAuth,Compression"],
        ["one", 5, ""],
        ["two", 6, ""],
      ],
    );
    assert.match(JSON.stringify(tunnels[0]?.options), /"bob"/);
    assert.doesNotMatch(JSON.stringify(tunnels[0]?.options), /"ann"/);
  });

  for (const [text, issue] of [
    ["tunnels:\n  web:\n    adr: 80\n    addr: 80", '3:5: unknown key "adr": did you mean "addr"?'],
    ['version: "2"\nweb_allow_hosts: ["*.test"]', /^2:18: "web_allow_hosts" must be a name, .name for all below/],
    ['version: "2"\ninspect_db_size: 1MB', /^2:18: "inspect_db_size" must be a number of bytes/],
    ['version: "2"\nconnect_interface: eth0', /^2:1: "connect_interface" is not supported: the routes of the system/],
    [
      'version: "2"\ncrl_url: http://a.example/crl',
      /^2:1: "crl_url" is not supported: the agent does not read revocation/,
    ],
    ["version: 3\nendpoint: []", /^2:1: unknown key "endpoint", .*did you mean "endpoints"\?$/],
    ["server: a:b:c", /^1:9: "server" must be HOST:PORT/],
    ["ca: nowhere.pem", /^1:5: "ca" ENOENT/],
    ["log_level: loud", /^1:12: "log_level" must be one of/],
    ["version: 3\nauthtoken: x", /^2:1: .*write "authtoken" under "agent:"$/],
    ["version: 4", '1:10: "version" must be 2 or 3, or absent in Postern\'s own format'],
    [
      "tunnels:\n  web: { addr: 80, basic_auth: [short:x] }",
      /^2:32: "basic_auth" must be USER:PASSWORD with a password of 8/,
    ],
    ["tunnels:\n  web: { addr: 80, proto: udp }", '2:27: "proto" must be one of http, tcp, tls, and is "udp"'],
    [
      "tunnels:\n  db: { addr: 80, proto: tcp, compression: true }",
      '2:44: a tcp tunnel does not support "compression": remove it',
    ],
    ["tunnels:\n  web: { domain: a.example }", /^2:3: the tunnel "web" needs the address of its service/],
    ["tunnels:\n  web: { addr: 80, domain: a.example, subdomain: b }", /^2:50: "subdomain" cannot be combined/],
    [
      "tunnels:\n  web: { addr: 80, url: 'https://a.b', schemes: [http, https] }",
      /^2:25: "url" must be an http:\/\/ URL without a path/,
    ],
    [
      "tunnels:\n  web: { addr: 80, labels: [a=b], compression: true }",
      /^2:28: "labels" does not work with Compression/,
    ],
    [
      "tunnels:\n  web: { addr: 80, oauth: { client_id: x } }",
      /^2:40: "oauth.client_id" needs "oauth.provider": set both/,
    ],
    [
      "tunnels:\n  web: { addr: 80, traffic_policy_file: nowhere.yml }",
      /^2:41: "traffic_policy_file" cannot read ".*nowhere.yml"/,
    ],
    ["tunnels:\n  web: { addr: 80, saml: { realm: x } }", /^2:28: unknown key "saml.realm"/],
    [
      "tunnels:\n  web: { addr: 80, saml: { authorized_groups: [a] } }",
      /^2:47: "saml.authorized_groups" needs "saml.idp_metadata/,
    ],
    [
      "tunnels:\n  tls: { addr: 80, proto: tls, terminate_at: agent }",
      /^2:46: "terminate_at" must be edge or upstream, or agent together with crt and key/,
    ],
    [
      "tunnels:\n  tls: { addr: 80, proto: tls, terminate_at: agent, crt: some.pem, key: some.pem }",
      /^2:58: "crt" does not match its key/,
    ],
    [
      "tunnels:\n  tls: { addr: 80, proto: tls, terminate_at: agent, crt: some.pem, key: some.pem, proxy_proto: 2 }",
      /^2:46: "terminate_at" cannot be agent with a PROXY protocol header/,
    ],
    [
      "version: 3\nendpoints:\n  - { name: a, upstream: { url: 80 }, agent_tls_termination: { server_certificate: some.pem } }",
      /a http tunnel does not support "agent_tls_termination.server_certificate"/,
    ],
    ["version: 3\nendpoints:\n  - upstream: { url: 80 }", /^3:5: the endpoint needs a "name"/],
    [
      "version: 3\nendpoints:\n  - { name: a, url: ftp://a.example, upstream: { url: 80 } }",
      /^3:21: "url" must begin with https/,
    ],
    ["tunnels: [", /^1:\d+: this is not valid YAML/],
    ["tunnels:\n  a: { addr: 1 }\n  a: { addr: 2 }", /^3:3: this is not valid YAML: Map keys must be unique/],
  ] as const) {
    it(`a file for an agent is rejected with the position and the fix: ${JSON.stringify(text)}`, () => {
      const { issues } = read(text);
      assert.equal(issues.length, 1, issues.join("\n"));
      if (typeof issue === "string") assert.equal(issues[0], issue);
      else assert.match(issues[0] as string, issue);
    });
  }

  it("a file for an agent never has its secrets repeated in error messages", () => {
    const { issues } = read(
      "tunnels: { web: { addr: 80, basic_auth: [hunter2], verify_webhook: { secret: hunter3 } } }",
    );
    assert.equal(issues.length, 2);
    assert.doesNotMatch(issues.join(), /hunter/);
  });

  it("every key of a file for an agent is read to a setting or explained", () => {
    const rows: readonly KeyRow[] = [
      ...tunnelKeys,
      ...endpointKeys,
      ...agentKeys.own,
      ...agentKeys[2],
      ...agentKeys[3],
    ];
    assert.deepEqual(
      rows.filter(
        ({ setting, refused, ignored, ignoredTexts }) =>
          [setting, refused ?? (ignoredTexts ? undefined : ignored)].filter(Boolean).length !== 1,
      ),
      [],
    );
  });

  it("every flag of a tunnel has a key in a file for an agent, in each format", () => {
    for (const rows of [tunnelKeys, endpointKeys] as readonly (readonly KeyRow[])[]) {
      const known = new Set(rows.map(({ setting }) => setting));
      const without = Object.keys(tunnelSettings).filter((setting) => !known.has(setting));
      // An endpoint's URL implies these settings.
      const ofUrl = ["hostname", "subdomain", "label", "scheme", "remoteAddr", "terminateAt", "crt", "key"];
      assert.deepEqual(without, rows === tunnelKeys ? [] : without.filter((setting) => ofUrl.includes(setting)));
    }
  });
});
