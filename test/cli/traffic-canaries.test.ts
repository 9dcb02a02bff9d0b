/**
 * Secrets of visitors, operators, agents and identity providers must not appear in any place that others read. The test
 * sends a canary for each secret through a server and an agent that log everything. Then it searches every place.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openBrowser } from "../support/browser.ts";
import type { Browser } from "../support/browser.ts";
import { freePorts, startCommand } from "../support/command.ts";
import type { Running } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { askOver, protocols } from "../support/http-client.ts";
import type { Asked, AskOptions, Protocol } from "../support/http-client.ts";
import { startOwnIssuer } from "../support/own-issuer.ts";
import type { OwnIssuer } from "../support/own-issuer.ts";
import { startReceiver } from "../support/receiver.ts";
import type { Receiver } from "../support/receiver.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { runSharedCommand } from "../support/shared-command.ts";

interface Facts {
  readonly api_url: string;
  readonly https_port: number;
  readonly agent_port: number;
}

// The shape is what the tests are about.
// oxlint-disable-next-line typescript/no-explicit-any
type Answer = any;

const host = "app.localhost";

/** By owner and purpose. Secrets that servers generate are added later. */
const canaries = new Map<string, string>();

function canary(name: string): string {
  const text = `Canary-${randomUUID()}`;
  canaries.set(name, text);
  return text;
}

/** Returns the forms in which a place may contain a text. */
function formsOf(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  return [text, encodeURIComponent(text), bytes.toString("base64"), bytes.toString("base64url"), bytes.toString("hex")];
}

const secrets = {
  visitorCookie: canary("visitor: cookie"),
  visitorToken: canary("visitor: bearer token"),
  visitorPassword: canary("visitor: password that was refused"),
  visitorKey: canary("visitor: key in a header"),
  visitorBody: canary("visitor: body"),
  visitorQuery: canary("visitor: token in a query"),
  serviceCookie: canary("service: cookie that it sets"),
  policyPassword: canary("operator: password in a policy"),
  policyHeader: canary("operator: header that a policy adds"),
  routeHeader: canary("operator: header that a route adds"),
  hookSecret: canary("operator: secret of a webhook"),
  vaultSecret: canary("operator: secret in a vault"),
  clientSecret: canary("operator: client secret of a login"),
  consoleSecret: canary("operator: client secret of the console"),
  accessToken: canary("provider: access token"),
  refreshToken: canary("provider: refresh token"),
  agentPassword: canary("agent: password of its endpoint"),
  agentHeader: canary("agent: header of its endpoint"),
  agentHook: canary("agent: secret of a webhook"),
  agentClient: canary("agent: client secret of a login"),
  agentKey: canary("agent: private key"),
};

/** Returns a file of another vendor's agent, with a secret in each possible field. */
function oldFile(): string {
  return `version: "2"
authtoken: ${canaries.get("agent: token") ?? ""}
api_key: ${canaries.get("operator: API key") ?? ""}
tunnels:
  web:
    proto: http
    addr: 80
    basic_auth: ["ada:${secrets.agentPassword}"]
    oauth: { provider: github, client_id: c, client_secret: ${secrets.agentClient} }
    verify_webhook: { provider: github, secret: ${secrets.agentHook} }
    request_header: { add: ["x-one:1", "x-agent:${secrets.agentHeader}"] }
  other:
    proto: http
    addr: 81
    request_header:
      add:
        - "x-agent:${secrets.agentHeader}"
    traffic_policy:
      on_http_request:
        - actions:
            - type: basic-auth
              config: { credentials: ["ada:one", "ada:${secrets.policyPassword}"] }
            - type: add-headers
              config: { headers: { x-one: "1", x-two: "${secrets.policyHeader}" } }
`;
}

/** Returns an agent file in which each secret has a syntax error, which produces a message about the secret. */
function fileWithMistakes(): string {
  return `proxy_url: "ftp://ada:${secrets.agentPassword}@127.0.0.1"
tunnels:
  web:
    addr: "http://ada:${secrets.agentPassword}@127.0.0.1:80/path"
    basic_auth: ["${secrets.agentPassword}"]
    request_header: { add: ["Authorization Bearer ${secrets.agentHeader}"] }
    response_header: { add: ["Set-Cookie ${secrets.agentHeader}"] }
    verify_webhook: { provider: nobody, secret: "${secrets.agentHook}" }
    oauth: { provider: nobody, client_id: c, client_secret: "${secrets.agentClient}" }
  db:
    proto: tls
    addr: 81
    terminate_at: agent
    crt: ca.pem
    key: "${secrets.agentKey}"
`;
}

describe("secrets that pass a server and an agent", { timeout: 240_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-canaries-"));
  const file = join(directory, "agent.yml");
  const answers: { readonly name: string; readonly answer: Asked }[] = [];
  let issuer: OwnIssuer;
  let receiver: Receiver;
  let service: HttpService;
  let server: Running;
  let agent: Running;
  let facts: Facts;
  let caPem: string;
  let reader: string;
  let browser: Browser;
  let agentUrl: string;
  const arrived: string[] = [];

  const call = async (method: string, path: string, body?: unknown, key?: string): Promise<Response> =>
    await fetch(`${facts.api_url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key ?? canaries.get("operator: API key") ?? ""}`,
        "service-version": "2",
        prefer: "wait=5",
        "content-type": "application/json",
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const make = async (path: string, body?: unknown): Promise<Answer> => {
    const response = await call("POST", path, body);
    const text = await response.text();
    assert.ok(response.ok, `${path}: ${text}`);
    return JSON.parse(text) as Answer;
  };
  const ask = async (http: Protocol, path: string, options: Partial<AskOptions> = {}): Promise<Asked> => {
    const answer = await askOver(http, facts.https_port, caPem, { host, path, ...options });
    answers.push({ name: `${http} ${options.host ?? host}${path.split("?")[0] ?? ""}`, answer });
    return answer;
  };

  before(async () => {
    issuer = await startOwnIssuer();
    issuer.granted = { access_token: secrets.accessToken, refresh_token: secrets.refreshToken };
    issuer.forge = (claims) => {
      const token = issuer.sign(claims);
      canaries.set(`provider: id_token ${canaries.size}`, token);
      return token;
    };
    receiver = await startReceiver("http");
    service = await startHttpService((request, response) => {
      let text = "";
      request.on("data", (part) => (text += String(part)));
      request.on("end", () => {
        arrived.push(`${JSON.stringify(request.headers)} ${text}`);
        response.setHeader("set-cookie", `own=${secrets.serviceCookie}`);
        response.end("served");
      });
    });
    const data = join(directory, "data");
    const logged = ["--log-level", "debug", "--log-format", "json"];
    server = startCommand(
      ["serve", "--json", "--data", data, ...logged, "--allow-local-upstreams", "--login-issuer", issuer.url],
      {
        env: {
          ...freePorts,
          POSTERN_CONSOLE_OIDC_ISSUER: issuer.url,
          POSTERN_CONSOLE_OIDC_CLIENT_ID: "console",
          POSTERN_CONSOLE_OIDC_CLIENT_SECRET: secrets.consoleSecret,
          POSTERN_CONSOLE_ACCESS: "ada@example.com=admin",
        },
      },
    );
    facts = JSON.parse(await server.firstLine()) as Facts;
    caPem = readFileSync(join(data, "ca.pem"), "utf8");
    for (const [name, of] of [
      ["operator: API key", "api-key"],
      ["agent: token", "authtoken"],
    ] as const) {
      canaries.set(name, readFileSync(join(data, of), "utf8").trim());
    }
    reader = (await make("/api_keys", { scopes: ["read"] })).token;
    canaries.set("operator: API key of a reader", reader);
    await configure();
    await startAgent();
    await visit();
    await openConsoles();
    await receiver.count(1);
  });
  after(async () => {
    await agent?.end();
    await server.end();
    await issuer.stop();
    await receiver.stop();
    await service.stop();
    rmSync(directory, { recursive: true });
  });

  /** Configures a route for each way to check, change and answer a request. */
  async function configure(): Promise<void> {
    const vault = await make("/vaults", { name: "v" });
    await make("/vault_secrets", { vault_id: vault.id, name: "s", value: secrets.vaultSecret });
    const edge = await make("/edges/https", { hostports: [`${host}:443`] });
    const backend = await make("/backends/static", { address: `127.0.0.1:${service.port}` });
    const dead = await make("/backends/static", { address: "127.0.0.1:1" });
    const route = (match: string, modules: object, backendId: string = backend.id): Promise<Answer> =>
      make(`/edges/https/${edge.id}/routes`, {
        match_type: "path_prefix",
        match,
        backend: { backend_id: backendId },
        ...modules,
      });
    const policy = (...actions: readonly object[]) => ({
      traffic_policy: { value: JSON.stringify({ on_http_request: [{ actions }] }) },
    });
    await route("/", { request_headers: { add: { "x-route": secrets.routeHeader } } });
    await route("/dead", {}, dead.id);
    await route("/hook", { webhook_verification: { provider: "github", secret: secrets.hookSecret } });
    const credentials = [`ada:${secrets.policyPassword}`];
    await route("/basic", policy({ type: "basic-auth", config: { credentials } }));
    await route(
      "/policy",
      policy(
        { type: "set-vars", config: { vars: [{ key: "${secrets.get('v', 's')}" }] } },
        { type: "add-headers", config: { headers: { "x-policy": secrets.policyHeader, "x-vault": "${vars.key}" } } },
        { type: "log", config: { metadata: { path: "${req.url.path}" } } },
      ),
    );
    await route("/broken", policy({ type: "redirect", config: { to: "https://a.example/${getQueryParam('to')[0]}" } }));
    await route("/login", {
      oidc: { issuer: issuer.url, client_id: "visitors", client_secret: secrets.clientSecret },
    });
    const destination = await make("/event_destinations", { target: { webhook: { url: `${receiver.url}/` } } });
    const types = ["http_request_complete.v0", "login_completed.v0", "ip_policy_created.v0", "api_key_created.v0"];
    const sources = types.map((type) => ({ type }));
    await make("/event_subscriptions", { sources, destination_ids: [destination.id] });
    canaries.set("operator: second API key", (await make("/api_keys", { scopes: ["read", "write"] })).token);
    canaries.set("agent: second token", (await make("/credentials", {})).token);
  }

  async function startAgent(): Promise<void> {
    writeFileSync(join(directory, "ca.pem"), caPem);
    writeFileSync(
      file,
      `server: 127.0.0.1:${facts.agent_port}
ca: ${join(directory, "ca.pem")}
authtoken: ${canaries.get("agent: token") ?? ""}
log_level: debug
tunnels:
  guarded:
    addr: ${service.port}
    url: https://guarded.localhost
    basic_auth: ["ada:${secrets.agentPassword}"]
    request_header: { add: ["x-agent:${secrets.agentHeader}"] }
  hooked:
    addr: ${service.port}
    url: https://hooked.localhost
    verify_webhook: { provider: github, secret: ${secrets.agentHook} }
  asked:
    addr: ${service.port}
    url: https://asked.localhost
    oauth: { provider: github, client_id: c, client_secret: ${secrets.agentClient}, scopes: [] }
`,
      { mode: 0o600 },
    );
    agent = startCommand(["start", "--all", "--json", "--config", file, "--log-format", "json", "--inspector", "0"], {
      env: { HOME: directory, XDG_CONFIG_HOME: directory },
    });
    await eventually(
      () => agent.stdout().split("\n").length,
      (lines) => lines > 3,
    );
    agentUrl = await eventually(() => /http:\/\/127\.0\.0\.1:\d+/.exec(agent.stderr())?.[0] ?? "", Boolean);
  }

  async function visit(): Promise<void> {
    const basic = (password: string) => `Basic ${Buffer.from(`ada:${password}`).toString("base64")}`;
    const headers = {
      cookie: `session=${secrets.visitorCookie}`,
      authorization: `Bearer ${secrets.visitorToken}`,
      "x-api-key": secrets.visitorKey,
      "user-agent": "canaries",
    };
    for (const http of protocols) {
      for (const path of ["/", "/dead", "/hook", "/basic", "/policy", "/broken?to=a%0Ab", "/login", "/none"]) {
        const target = `${path}${path.includes("?") ? "&" : "?"}access_token=${secrets.visitorQuery}`;
        await ask(http, target, { method: "POST", body: secrets.visitorBody, headers });
      }
      for (const [name, right] of [
        ["app", secrets.policyPassword],
        ["guarded", secrets.agentPassword],
      ] as const) {
        for (const password of [right, secrets.visitorPassword]) {
          const given = { ...headers, authorization: basic(password) };
          const { status } = await ask(http, "/basic", { host: `${name}.localhost`, headers: given });
          assert.equal(status, password === right ? 200 : 401, name);
        }
      }
      for (const name of ["hooked", "asked"]) await ask(http, "/", { host: `${name}.localhost`, headers });
    }
    canaries.set("visitor: password with its name", Buffer.from(`ada:${secrets.visitorPassword}`).toString("base64"));
    browser = openBrowser({ ca: caPem });
    const url = `https://${host}:${facts.https_port}/login`;
    assert.equal((await browser.visit(url)).status, 200);
    for (const one of browser.cookies(url).split("; ")) {
      const [name = "", value = ""] = one.split("=", 2);
      canaries.set(`visitor: cookie ${name} of a login`, value);
    }
    for (const one of browser.asked) {
      for (const name of ["code", "state", "nonce", "code_challenge"]) {
        const value = new URL(one).searchParams.get(name);
        if (value !== null) canaries.set(`provider: ${name} of a login`, value);
      }
    }
  }

  /** Opens one session with a link, and one with the team's provider. */
  async function openConsoles(): Promise<void> {
    const { url } = await make("/console_links");
    const code = new URL(url).hash.replace("#code=", "");
    canaries.set("operator: code of a link to the console", code);
    const opened = await fetch(`${facts.api_url}/console/session`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: facts.api_url },
      body: JSON.stringify({ code }),
    });
    assert.equal(opened.status, 200, await opened.clone().text());
    const cookie = opened.headers.get("set-cookie")?.split(";", 1)[0]?.split("=")[1] ?? "";
    canaries.set("operator: cookie of the console", cookie);
    canaries.set("operator: token of the console's page", ((await opened.json()) as Answer).page_token);
    const team = openBrowser({ ca: "" });
    await team.visit(`${facts.api_url}/console/login`);
    const held = team.cookies(facts.api_url);
    assert.match(held, /postern_console/);
    canaries.set("operator: cookie of a person's console", held.split("=").at(-1) ?? "");
  }

  const command = async (...args: readonly string[]): Promise<string> => {
    const env = {
      HOME: directory,
      XDG_CONFIG_HOME: directory,
      POSTERN_API_URL: facts.api_url,
      POSTERN_API_KEY: reader,
    };
    const { stdout, stderr } = await runSharedCommand(args, { env });
    return stdout + stderr;
  };
  const read = async (path: string): Promise<string> => (await call("GET", path, undefined, reader)).text();
  const each = async (list: string, key: string, more: string): Promise<string> => {
    const found = JSON.parse(await read(list)) as Answer;
    const texts = [];
    for (const { id } of found[key]) texts.push(await read(`${list.split("?")[0] ?? ""}/${id}${more}`));
    return texts.join("\n");
  };

  /** By name. A place without any text fails the test. */
  const places: Readonly<Record<string, () => Promise<string> | string>> = {
    "log of the server": () => server.stderr(),
    // The first line of the first start contains the first keys, once.
    "output of the server": () => `none but these facts: ${server.stdout().split("\n").slice(1).join("\n")}`,
    "log of the agent": () => agent.stderr(),
    "output of the agent": () => agent.stdout(),
    "answers to visitors": () =>
      answers
        .map(({ name, answer }) => {
          // The service's response and a login's data are for their visitor.
          const { "set-cookie": _, location: __, ...headers } = answer.headers;
          return `${name} ${answer.status} ${JSON.stringify(headers)} ${answer.text}`;
        })
        .join("\n"),
    "list of requests": () => read("/requests?limit=100"),
    traces: () => each("/requests?limit=100", "requests", ""),
    metrics: () => read("/metrics"),
    problems: () => read("/problems"),
    history: () => read("/revisions?limit=100"),
    revisions: async () => {
      const texts = [];
      const last = Number((await call("GET", "/ip_policies", undefined, reader)).headers.get("postern-revision"));
      for (let revision = 1; revision <= last; revision += 1) texts.push(await read(`/revisions/${revision}`));
      return texts.join("\n");
    },
    "sessions of visitors": () => read("/app/sessions"),
    "users of logins": () => read("/app/users"),
    "sessions at the console": () => read("/console_sessions"),
    "routes in the API": async () => {
      const { https_edges: edges } = JSON.parse(await read("/edges/https")) as Answer;
      return await read(`/edges/https/${edges[0].id}`);
    },
    "endpoints in the API": () => read("/endpoints"),
    "agents in the API": async () => `${await read("/tunnel_sessions")} ${await read("/tunnels")}`,
    "keys in the API": async () => `${await read("/api_keys")} ${await read("/credentials")}`,
    "secrets in the API": async () => `${await read("/vault_secrets")} ${await read("/event_destinations")}`,
    "pages of the console": async () => await (await fetch(`${facts.api_url}/`)).text(),
    events: () => JSON.stringify(receiver.received),
    "postern export": () => command("export"),
    "postern export --json": () => command("export", "--json"),
    "postern explain --json": async () => {
      const texts = [];
      for (const path of ["/", "/policy", "/basic", "/broken", "/login", "/hook"]) {
        texts.push(await command("explain", "GET", `https://${host}${path}`, "--json"));
        texts.push(await command("explain", "GET", `https://${host}${path}`));
      }
      return texts.join("\n");
    },
    "postern api": () => command("api", "GET", "/requests"),
    "postern doctor --json": () => command("doctor", "--json"),
    "postern diagnose --json": () => command("diagnose", "--config", file, "--json"),
    "postern config upgrade": async () => {
      const old = join(directory, "old.yml");
      writeFileSync(old, oldFile(), { mode: 0o600 });
      return await command("config", "upgrade", "--dry-run", "--config", old);
    },
    "postern config check of a file with mistakes": async () => {
      const bad = join(directory, "bad.yml");
      writeFileSync(bad, fileWithMistakes(), { mode: 0o600 });
      const checked = await command("config", "check", "--config", bad);
      assert.equal(checked.split("\n").filter((line) => /bad\.yml:\d+:\d+: "/.test(line)).length, 7, checked);
      return checked;
    },
    "messages about flags": async () => {
      const agent = ["http", "80", "--server", "127.0.0.1:1", "--token", "x"];
      const texts = [];
      for (const wrong of [
        ["--basic-auth", secrets.agentPassword],
        ["--request-header-add", `Authorization Bearer ${secrets.agentHeader}`],
        ["--response-header-add", secrets.agentHeader],
        ["--proxy", `ftp://ada:${secrets.agentPassword}@127.0.0.1`],
        ["--oauth", "nobody", "--oauth-client-id", "c", "--oauth-client-secret", secrets.agentClient],
      ]) {
        texts.push(await command(...agent, ...wrong));
      }
      return texts.join("\n");
    },
    "postern config check --json": () => command("config", "check", "--config", file, "--json"),
    "postern agent status --json": () => command("agent", "status", "--json", "--inspector", new URL(agentUrl).host),
    "postern agent tunnels --json": () => command("agent", "tunnels", "--json", "--inspector", new URL(agentUrl).host),
    "local API of the agent": async () => {
      const texts = [];
      for (const path of ["/api/tunnels", "/api/endpoints", "/api/status"]) {
        texts.push(await (await fetch(`${agentUrl}${path}`)).text());
      }
      return texts.join("\n");
    },
  };

  it("K4: secrets that pass a server and an agent reach their visitors, services and providers", () => {
    const all = arrived.join("\n");
    for (const name of [
      "visitorCookie",
      "visitorBody",
      "routeHeader",
      "policyHeader",
      "vaultSecret",
      "agentHeader",
    ] as const) {
      assert.ok(all.includes(secrets[name]), name);
    }
    assert.ok(issuer.calls.filter((path) => path === "/token").length >= 2, "the provider gave its tokens");
    assert.ok(canaries.size > 35, String(canaries.size));
  });

  for (const [place, look] of Object.entries(places)) {
    it(`K4: secrets that pass a server and an agent are not in: ${place}`, async () => {
      const text = await look();
      assert.ok(text.length > (place === "problems" ? 0 : 20), text);
      const found = [...canaries].filter(([, secret]) => formsOf(secret).some((form) => text.includes(form)));
      const shown = found.map(([name, secret]) => {
        const at =
          formsOf(secret)
            .map((form) => text.indexOf(form))
            .find((one) => one >= 0) ?? 0;
        return `${name}: …${text.slice(Math.max(0, at - 150), at + 20)}`;
      });
      assert.deepEqual(shown, []);
    });
  }
});
