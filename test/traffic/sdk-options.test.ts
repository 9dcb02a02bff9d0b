/**
 * Every option of the public SDK, taken from its type declarations, with the test that shows its effect on real
 * traffic. A new option of a later version fails here until it has a test.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, it } from "node:test";

const forward = "test/traffic/sdk-forward.test.ts";
const builders = "test/traffic/sdk-builders.test.ts";
const logins = "test/identity/agents.test.ts";
const protocol = "test/tunnel/sdk.test.ts";
const driver = "test/support/sdk-agent.ts";

/** How a file uses options: `forward()` by its members, the rest by class and method. */
const seen: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Config: {
    [forward]: `addr app_protocol auth authtoken authtoken_from_env basic_auth binPath circuit_breaker compression configPath
      crt domain forwards_to force_new_session host_header host hostname inspect ip_restriction_allow_cidrs
      ip_restriction_deny_cidrs allow_user_agent deny_user_agent key labels metadata mutual_tls_cas name policy port proto
      proxy_proto request_header_add request_header_remove response_header_add response_header_remove region remote_addr
      root_cas schemes session_ca_cert session_metadata server_addr subdomain terminate_at traffic_policy
      verify_upstream_tls verify_webhook_provider verify_webhook_secret web_addr websocket_tcp_converter binding`,
    [logins]: `oauth_allow_domains oauth_allow_emails oauth_scopes oauth_provider oauth_client_id oauth_client_secret
      oidc_client_id oidc_client_secret oidc_scopes oidc_issuer_url oidc_allow_domains oidc_allow_emails`,
    // Its handlers are functions inside the SDK's process, and their events are checked there.
    [driver]: "onLogEvent onStatusChange",
  },
  HttpListenerBuilder: {
    [builders]: `scheme appProtocol domain compression websocketTcpConversion circuitBreaker requestHeader responseHeader
      removeRequestHeader removeResponseHeader allowUserAgent denyUserAgent poolingEnabled webhookVerification metadata
      verifyUpstreamTls listen listenAndServe allowCidr denyCidr forwardsTo policy trafficPolicy binding`,
    [driver]: "listenAndForward mutualTlsca basicAuth oauth oidc proxyProto",
  },
  TcpListenerBuilder: {
    [builders]: `metadata verifyUpstreamTls listen listenAndServe allowCidr denyCidr proxyProto forwardsTo policy
      trafficPolicy binding remoteAddr poolingEnabled`,
    [driver]: "listenAndForward",
  },
  TlsListenerBuilder: {
    [builders]: `metadata verifyUpstreamTls listen listenAndServe allowCidr denyCidr proxyProto forwardsTo policy
      trafficPolicy binding domain mutualTlsca poolingEnabled termination`,
    [driver]: "listenAndForward",
  },
  LabeledListenerBuilder: {
    [builders]: "metadata verifyUpstreamTls listen listenAndServe label appProtocol",
    [driver]: "listenAndForward",
  },
  SessionBuilder: {
    [builders]: `authtokenFromEnv clientInfo heartbeatInterval metadata serverAddr caCert handleDisconnection
      handleStopCommand handleRestartCommand handleUpdateCommand handleHeartbeat`,
    [driver]: "authtoken heartbeatTolerance connect",
    // The same member of `forward()` is this method.
    [forward]: "root_cas",
  },
  Session: {
    [driver]: "httpEndpoint tcpEndpoint tlsEndpoint labeledListener close",
    [builders]: "listeners",
    [protocol]: "closeListener",
  },
  Listener: { [driver]: "url proto labels id forwardsTo metadata forward close" },
};

/** Options that stay inside the process and never reach a server. */
const local: Readonly<Record<string, string>> = {
  SessionBuilder: "constructor",
  Listener: "join",
  UpdateRequest: "version permitMajorVersion",
};
const renamed: Readonly<Record<string, string>> = { "SessionBuilder root_cas": "rootCas" };

const words = (text = ""): string[] => text.split(/\s+/).filter((one) => one !== "");
const declarations = readFileSync(
  join(createRequire(import.meta.url).resolve("@ngrok/ngrok"), "../index.d.ts"),
  "utf8",
);

/** Members of each exported class and interface. */
function declared(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  const blocks = declarations.matchAll(/^export (?:declare class|interface) (\w+)\b[^{]*\{\n(.*?)^\}/gms);
  for (const [, name = "", body = ""] of blocks) {
    found.set(
      name,
      [...body.matchAll(/^ {2}(\w+)\??[(:]/gm)].map(([, member = ""]) => member),
    );
  }
  return found;
}

describe("options of the public SDK", () => {
  it("options of the public SDK each have a test of their effect, according to the package's declarations", () => {
    for (const [name, members] of declared()) {
      const known = Object.entries(seen[name] ?? {}).flatMap(([, text]) =>
        words(text).map((one) => renamed[`${name} ${one}`] ?? one),
      );
      assert.deepEqual([...known, ...words(local[name])].toSorted(), members.toSorted(), name);
    }
    assert.deepEqual(
      Object.keys(seen).filter((name) => !declared().has(name)),
      [],
    );
  });

  it("options of the public SDK are used in the test files listed for them", () => {
    for (const [name, files] of Object.entries(seen)) {
      for (const [file, text] of Object.entries(files)) {
        const source = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
        const missing = words(text).filter((one) => !new RegExp(`\\b${one}\\b`).test(source));
        assert.deepEqual(missing, [], `${name} in ${file}`);
      }
    }
  });
});
