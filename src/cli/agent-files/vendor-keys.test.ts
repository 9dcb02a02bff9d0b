/**
 * Tests each key and protocol of the vendor's reference for agent files, versions 2 and 3. Each key either becomes a
 * setting, or is refused by name with its line. The values are ours.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileTunnels } from "../agent/file-tunnels.ts";
import { readAgentFiles } from "./read-agent-files.ts";

const directory = mkdtempSync(join(tmpdir(), "postern-vendor-keys-"));
after(() => rmSync(directory, { recursive: true }));
for (const name of ["some.crt", "some.key", "some.pem"]) writeFileSync(join(directory, name), `PEM of ${name}`);
writeFileSync(join(directory, "policy.yml"), JSON.stringify({ on_http_request: [{ actions: [{ type: "deny" }] }] }));

function read(text: string) {
  const path = join(directory, "agent.yml");
  writeFileSync(path, text);
  const files = readAgentFiles([path]);
  const { tunnels, issues } = fileTunnels(files);
  return { values: files.values, tunnels: tunnels.flatMap((one) => one.tunnels), issues, warnings: files.warnings };
}

const rule = (phase: string): string => `{ ${phase}: [{ actions: [{ type: deny }] }] }`;
const policies = (...phases: readonly string[]): readonly (readonly [line: string, sent: string])[] => [
  ...["inbound", "outbound"].map((phase) => [`policy: ${rule(phase)}`, "traffic policy"] as const),
  ...["inbound", "outbound", ...phases].map((phase) => [`traffic_policy: ${rule(phase)}`, "traffic policy"] as const),
];
const restrictions = [
  ["ip_restriction: { allow_cidrs: [192.0.2.0/24] }", "IPRestriction"],
  ["ip_restriction: { deny_cidrs: [192.0.2.0/24] }", "IPRestriction"],
] as const;

/** HTTP keys that versions 2 and 3 share, with the resulting protocol option. */
const ofHttp: readonly (readonly [line: string, sent: string])[] = [
  ["circuit_breaker: 0.7", "CircuitBreaker"],
  ["compression: true", "Compression"],
  ["inspect: false", ""],
  ...restrictions,
  ["mutual_tls_cas: some.pem", "MutualTLSCA"],
  ["oauth: { provider: google, allow_domains: [shop.example] }", "OAuth"],
  ["oauth: { provider: google, allow_emails: [ann@shop.example] }", "OAuth"],
  ["request_header: { add: ['x-shop:one'], remove: [x-other] }", "RequestHeaders"],
  ["response_header: { add: ['x-shop:one'], remove: [x-other] }", "ResponseHeaders"],
  ["user_agent_filter: { allow: [Mozilla], deny: [curl] }", "UserAgentFilter"],
  ["verify_webhook: { provider: github, secret: s3cret }", "WebhookVerification"],
  ["websocket_tcp_converter: true", "WebsocketTCPConverter"],
  ["metadata: shelf-7", ""],
  ...policies("on_tcp_connect", "on_http_request", "on_http_response"),
];
const whole = [...restrictions, ["metadata: shelf-7", ""] as const, ...policies("on_tcp_connect")];
const tunnels: Readonly<Record<string, readonly (readonly [line: string, sent: string])[]>> = {
  http: [
    ...ofHttp,
    ["basic_auth: ['ann:longenough']", "BasicAuth"],
    ["host_header: rewrite", "RequestHeaders"],
    ["host_header: preserve", ""],
    ["host_header: shop.local", "RequestHeaders"],
    ["domain: shop.example", ""],
    ["hostname: shop.example", ""],
    ["subdomain: shop", ""],
    ["oauth: { provider: google, scopes: [email], client_id: a, client_secret: b }", "OAuth"],
    ["proxy_proto: 2", ""],
    ["schemes: [http]", ""],
    ["schemes: [https]", ""],
  ],
  tcp: [...whole, ["proxy_proto: 1", ""], ["remote_addr: 't.shop.example:21746'", ""]],
  tls: [
    ...whole,
    ["domain: shop.example", ""],
    ["subdomain: shop", ""],
    ["proxy_proto: 1", ""],
    ["crt: some.crt\n    key: some.key", "TLSTermination"],
    ["terminate_at: edge", "TLSTermination"],
    ["terminate_at: upstream", ""],
    ["crt: some.crt\n    key: some.key\n    mutual_tls_cas: some.pem", "TLSTermination,MutualTLSAtEdge"],
  ],
};
const endpoints: Readonly<Record<string, readonly (readonly [line: string, sent: string])[]>> = {
  "https://shop.example": [
    ...ofHttp,
    ["oauth: { provider: google, oauth_scopes: [email], client_id: a, client_secret: b }", "OAuth"],
    ["proxy_protocol: 2", ""],
    ["description: the shop", ""],
    ["bindings: [public]", ""],
    ["bindings: [internal]", ""],
    ["traffic_policy_file: policy.yml", "traffic policy"],
    ["pooling_enabled: true", ""],
  ],
  "tcp://t.shop.example:21746": [...whole, ["description: the shop", ""], ["proxy_protocol: 1", ""]],
  "tls://shop.example": [...whole, ["description: the shop", ""], ["proxy_protocol: 1", ""]],
};

function check(text: string, sent: string): void {
  const { tunnels: made, issues } = read(text);
  assert.deepEqual(issues, [], text);
  const [tunnel] = made;
  const options = Object.keys(tunnel?.options ?? {});
  const wanted = sent.split(",").filter((one) => one !== "");
  if (sent === "traffic policy") assert.match(tunnel?.trafficPolicy ?? "", /"type":"deny"/, text);
  else assert.deepEqual(options.toSorted(), wanted.toSorted(), text);
}

describe("the vendor's reference of agents' files", () => {
  for (const [proto, lines] of Object.entries(tunnels)) {
    it(`the vendor's reference of agents' files: all keys of ${proto} tunnels are read`, () => {
      for (const [line, sent] of lines) {
        check(`version: 2\ntunnels:\n  shop:\n    proto: ${proto}\n    addr: 8080\n    ${line}\n`, sent);
        check(`version: 3\nagent: {}\ntunnels:\n  shop:\n    proto: ${proto}\n    addr: 8080\n    ${line}\n`, sent);
      }
    });
  }

  for (const [url, lines] of Object.entries(endpoints)) {
    it(`the vendor's reference of agents' files: all keys of an endpoint at ${url} are read`, () => {
      for (const [line, sent] of lines) {
        check(
          `version: 3\nendpoints:\n  - name: shop\n    url: ${url}\n    upstream: { url: 8080 }\n    ${line}\n`,
          sent,
        );
      }
    });
  }

  it("the vendor's reference of agents' files: endpoints are named by a domain, an origin, or a scheme", () => {
    for (const [url, proto] of [
      ["shop.example", "https"],
      ["https://shop.example", "https"],
      ["http://shop.example", "http"],
      ["https://", "https"],
      ["tcp://", "tcp"],
      ["tls://shop.example", "tls"],
    ] as const) {
      const { issues, tunnels: made } = read(
        `version: 3\nendpoints:\n  - name: shop\n    url: ${url}\n    upstream: { url: 8080 }\n`,
      );
      assert.deepEqual([issues, made[0]?.proto], [[], proto], url);
    }
  });

  for (const [line, message] of [
    ["labels: [env=prod, crt=x]\n    crt: some.crt", /^a http tunnel does not support "crt"/],
    ["proto: tcp\n    domain: shop.example", /^"domain" must be a tcp:\/\/ URL with a port/],
    ["proto: tcp\n    schemes: [https]", /^a tcp tunnel does not support "schemes"/],
    ["proto: tls\n    compression: true", /^a tls tunnel does not support "compression"/],
    ["proto: tls\n    crt: some.crt", /^"crt" needs "key"/],
  ] as const) {
    it(`the vendor's reference of agents' files: ${line.replaceAll(/\n\s*/g, ", ")} is refused by name with its line`, () => {
      const { issues } = read(`version: 2\ntunnels:\n  shop:\n    addr: 8080\n    ${line}\n`);
      assert.equal(issues.length, 1, JSON.stringify(issues));
      assert.match(issues[0]?.message ?? "", message);
      assert.equal(issues[0]?.line, 6);
    });
  }

  /** Key of the agent itself, its value, and the resulting setting. undefined: refused; "": ignored with a warning. */
  const agent: readonly (readonly [key: string, value: string, setting: string | undefined])[] = [
    ["api_key", "abc", "apiKey"],
    ["authtoken", "abc", "authtoken"],
    ["connect_interface", "eth0", undefined],
    ["connect_timeout", "45s", "connectTimeout"],
    ["console_ui", "iftty", "screen"],
    ["console_ui_color", "black", ""],
    ["crl_noverify", "false", ""],
    ["crl_url", "http://crl.example/a.crl", undefined],
    ["dns_resolver_ips", "[192.0.2.1, 192.0.2.2]", "dnsServer"],
    ["heartbeat_interval", "30s", "heartbeatInterval"],
    ["heartbeat_tolerance", "5s", "heartbeatTolerance"],
    ["inspect_db_size", "1048576", "inspectDbSize"],
    ["local_storage", "false", "inspectDbSize"],
    ["log_level", "debug", "logLevel"],
    ["log_format", "json", "logFormat"],
    ["log", "stderr", "log"],
    ["log", "'false'", "log"],
    ["metadata", "shelf-7", "sessionMetadata"],
    ["proxy_url", "socks5://127.0.0.1:1080", "proxy"],
    ["region", "eu", ""],
    ["proxy_url", "''", ""],
    ["remote_management", "false", "remoteManagement"],
    ["update_channel", "beta", ""],
    ["update_check", "true", ""],
    ["web_addr", "127.0.0.1:4041", "inspector"],
    ["web_allow_hosts", "[shop.example]", "inspectorHost"],
  ];
  it("the vendor's reference of agents' files: each key of the agent is read, or refused with its line", () => {
    const both = [
      [2, "", [...agent, ["root_cas", "host", "ca"], ["server_addr", "t.shop.example:443", "server"]]],
      [
        3,
        "  ",
        [
          ...agent,
          ["connect_cas", "host", "ca"],
          ["connect_url", "t.shop.example:443", "server"],
          ["root_cas", "host", undefined],
          ["server_addr", "t.shop.example:443", undefined],
        ],
      ],
    ] as const;
    for (const [version, indent, keys] of both) {
      for (const [key, value, setting] of keys) {
        const { values, issues, warnings } = read(
          `version: ${version}\n${indent === "" ? "" : "agent:\n"}${indent}${key}: ${value}\n`,
        );
        if (setting === "") {
          assert.deepEqual([issues, warnings.length, values.size], [[], 1, 0], key);
          assert.match(warnings[0]?.message ?? "", new RegExp(`^"${key}" is ignored: `));
          assert.equal(warnings[0]?.line, indent === "" ? 2 : 3, key);
        } else if (setting === undefined) {
          assert.match(issues[0]?.message ?? "", new RegExp(`^"${key}" is not supported: `), key);
          assert.equal(issues[0]?.line, indent === "" ? 2 : 3, key);
        } else assert.deepEqual([issues, values.has(setting)], [[], true], `${version} ${key}`);
      }
    }
  });

  it("a file without a version has the format that its keys imply", () => {
    for (const [text, setting] of [
      ["metadata: shelf-7", "sessionMetadata"],
      ["server_addr: t.shop.example:443", "server"],
      ["root_cas: host", "ca"],
      ["web_addr: 127.0.0.1:4041\nregion: eu", "inspector"],
      ["agent:\n  connect_url: t.shop.example:443", "server"],
      ["server: t.shop.example:443\nregion: eu", "server"],
      ["session_metadata: shelf-7\nlog_level: debug", "sessionMetadata"],
      ["authtoken: abc", "authtoken"],
    ] as const) {
      const { values, issues } = read(`${text}\n`);
      assert.deepEqual([issues, values.has(setting)], [[], true], text);
    }
    const { issues } = read("server: t.shop.example:443\nweb_addr: 127.0.0.1:4041\n");
    assert.deepEqual(
      issues.map(({ line }) => line),
      [2],
    );
  });

  it("merge keys add the keys of other maps, and the map's own keys win", () => {
    const { tunnels: made, issues } = read(`version: 2
tunnels:
  base: &base { proto: http, addr: 80, inspect: false, traffic_policy: &policy { inbound: [] } }
  other: &other { <<: *base, addr: 81, metadata: two }
  one: { <<: *base, addr: 82 }
  two: { addr: 83, <<: [*other, *base] }
  three:
    <<: *base
    subdomain: three
    traffic_policy: { <<: *policy, outbound: [] }
`);
    assert.deepEqual(issues, []);
    assert.deepEqual(
      made.map(({ name, upstream, inspect, metadata, trafficPolicy }) =>
        [name, upstream.port, inspect, metadata, trafficPolicy].join(" "),
      ),
      [
        'base 80 false  {"inbound":[]}',
        'other 81 false two {"inbound":[]}',
        'one 82 false  {"inbound":[]}',
        'two 83 false two {"inbound":[]}',
        'three 80 false  {"inbound":[],"outbound":[]}',
      ],
    );
    const wrong = read("version: 2\ntunnels:\n  one: { <<: text, addr: 80 }\n");
    assert.match(wrong.issues[0]?.message ?? "", /"<<" must name a map/);
    const deep = Array.from({ length: 40 }, (_, at) => `  t${at}: &t${at} { <<: [${`*t${at - 1}, `.repeat(8)}] }`);
    const many = read(`version: 2\ntunnels:\n  t: &t-1 { addr: 80 }\n${deep.join("\n")}\n`);
    assert.match(many.issues.map(({ message }) => message).join(), /too many aliases/);
  });

  it("the vendor's reference of agents' files: the agent terminates an endpoint's TLS and checks client certificates", () => {
    const { issues } = read(`version: 3
endpoints:
  - name: shop
    url: tls://shop.example
    upstream: { url: 8080 }
    agent_tls_termination:
      server_certificate: some.crt
      server_private_key: some.key
      mutual_tls_certificate_authorities: [some.pem]
`);
    assert.deepEqual(
      issues.map(({ line, message }) => [line, message.split(":")[0]]),
      [[7, '"agent_tls_termination.server_certificate" does not match its key']],
    );
  });

  it("the vendor's reference of agents' files: services are named by a port, a domain, an origin, or a scheme", () => {
    for (const [upstream, text] of [
      ["8080", "http://localhost:8080"],
      ["shop.local", "http://shop.local:80"],
      ["https://shop.local", "https://shop.local:443"],
      ["http://shop.local:81", "http://shop.local:81"],
      ["https://", "https://localhost:443"],
      ["http://", "http://localhost:80"],
    ] as const) {
      const { issues, tunnels: made } = read(
        `version: 3\nendpoints:\n  - name: shop\n    url: shop.example\n    upstream: { url: '${upstream}' }\n`,
      );
      assert.deepEqual([issues, made[0]?.upstream.text], [[], text], upstream);
    }
  });

  it("the vendor's reference of agents' files: endpoints set the protocol of their service", () => {
    for (const [upstream, http2, proxyProtocol] of [
      ["{ url: 8080, protocol: http1 }", false, 0],
      ["{ url: 8080, protocol: http2 }", true, 0],
      ["{ url: 'https://localhost:8443', tls_verify: true, tls_verify_cas: some.pem }", false, 0],
      ["{ url: 8080, proxy_protocol: 1 }", false, 1],
      ["{ url: 8080, proxy_protocol: '2' }", false, 2],
    ] as const) {
      const { issues, tunnels: made } = read(
        `version: 3\nendpoints:\n  - name: shop\n    url: shop.example\n    upstream: ${upstream}\n`,
      );
      const [tunnel] = made;
      assert.deepEqual(
        [issues, tunnel?.upstream.http2 === true, tunnel?.proxyProtocol ?? 0],
        [[], http2, proxyProtocol],
        upstream,
      );
    }
  });

  for (const [line, message] of [
    ["proto: http", /^"proto" is not supported: the scheme of the url sets it/],
    ["bindings: [kubernetes]", /^"bindings" must be one of public, internal/],
    ["labels: [app=web]", /^unknown key "labels"/],
    ["subdomain: shop", /^unknown key "subdomain"/],
  ] as const) {
    it(`the vendor's reference of agents' files: an endpoint's ${line} is refused by name with its line`, () => {
      const { issues } = read(`version: 3\nendpoints:\n  - name: shop\n    upstream: { url: 8080 }\n    ${line}\n`);
      assert.deepEqual([issues.length, issues[0]?.line], [1, 5]);
      assert.match(issues[0]?.message ?? "", message);
    });
  }

  it("the vendor's reference of agents' files: TCP endpoints may repeat the protocol for their service", () => {
    check(
      "version: 3\nendpoints:\n  - name: ssh\n    url: tcp://t.shop.example:21746\n    upstream: { url: 22, protocol: tcp }\n",
      "",
    );
  });
});
