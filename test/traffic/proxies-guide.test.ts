/** The configurations in the guide "behind a proxy" work with real proxies, and services get the visitor's address. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { EdgeOptions } from "../../src/edge/edge-options.ts";
import { issueLeaf } from "../../src/lib/certificates/x509.ts";
import { root } from "../support/command.ts";
import { freePort, portIs } from "../support/connections.ts";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { askOver, protocols } from "../support/http-client.ts";
import { findProgram, skipWithout } from "../support/programs.ts";
import type { ProgramName } from "../support/programs.ts";

const guide = readFileSync(`${root}docs/guides/behind-a-proxy.md`, "utf8");
const visitor = "127.0.0.9";
const loopback = ["127.0.0.1/32"];

/** Returns the example of a section of the guide. */
function exampleOf(title: string): string {
  const [, section = ""] = guide.split(`### ${title}\n`);
  const [, example] = /```text\n(.*?)```/s.exec(section) ?? [];
  assert.ok(example, title);
  return example;
}

interface Example {
  readonly program: ProgramName & ("caddy" | "haproxy");
  readonly options: Partial<EdgeOptions>;
  /** Whether the visitor's TLS connection ends at the proxy. */
  readonly endsTls: boolean;
}

const examples: Readonly<Record<string, Example>> = {
  "HAProxy that passes TLS on": { program: "haproxy", options: { trustedProxies: loopback }, endsTls: false },
  "HAProxy that ends TLS": { program: "haproxy", options: { trustedForwarders: loopback }, endsTls: true },
  Caddy: { program: "caddy", options: { trustedForwarders: loopback }, endsTls: true },
};

for (const [title, { program, options, endsTls }] of Object.entries(examples)) {
  describe(`the guide's example for ${title}`, { skip: skipWithout(program) }, () => {
    const folder = mkdtempSync(join(tmpdir(), "postern-proxy-"));
    let fixture: EdgeWithAgent;
    let child: ChildProcess;
    let ended: Promise<unknown>;
    let port: number;

    before(async () => {
      fixture = await startEdgeWithAgent(options);
      port = await freePort();
      const { authority, edge } = fixture.edge;
      const leaf = await issueLeaf(authority, { names: [host], now: Date.now(), days: 1 });
      const [pem, ca] = [join(folder, "proxy.pem"), join(folder, "ca.pem")];
      writeFileSync(pem, leaf.certificatePem + leaf.keyPem);
      writeFileSync(ca, authority.certificatePem);
      const example = exampleOf(title)
        .replace(/https:\/\/10\.0\.0\.5/, `https://127.0.0.1:${edge.https.port}`)
        .replaceAll("10.0.0.5:443", `127.0.0.1:${edge.https.port}`)
        .replace("bind :443", `bind 127.0.0.1:${port}`)
        .replace("/etc/haproxy/certs", pem)
        .replace(/\/etc\/(?:haproxy|caddy)\/postern-ca\.pem/, ca)
        .replace("*.example.com {", `https://${host}:${port} {\n  bind 127.0.0.1\n  tls ${pem} ${pem}`);
      const file = join(folder, "configuration");
      const timeouts = "defaults\n  timeout connect 5s\n  timeout client 30s\n  timeout server 30s\n";
      writeFileSync(file, program === "haproxy" ? timeouts + example : `{\n  admin off\n}\n${example}`);
      const args =
        program === "haproxy" ? ["-db", "-q", "-f", file] : ["run", "--adapter", "caddyfile", "--config", file];
      child = spawn(findProgram(program) as string, args, {
        env: { ...process.env, HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder },
        stdio: "ignore",
      });
      ended = once(child, "close");
      await Promise.race([portIs("open", port), ended.then(() => Promise.reject(new Error(`${program} has ended`)))]);
    });
    after(async () => {
      child.kill("SIGTERM");
      await ended;
      await fixture.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    for (const protocol of protocols) {
      it(`the guide's example for ${title} passes the visitor's address on over ${protocol}`, async () => {
        fixture.received.length = 0;
        const headers = { "x-forwarded-for": "198.51.100.1" };
        const ca = fixture.edge.authority.certificatePem;
        const answer = await askOver(protocol, port, ca, { host, source: visitor, headers });
        assert.equal(answer.text, "served");
        const forwarded = String(fixture.received[0]?.headers["x-forwarded-for"]).split(/, */);
        assert.equal(forwarded.at(endsTls ? -2 : -1), visitor, forwarded.join());
        assert.match(String(fixture.received[0]?.headers["x-forwarded-proto"]), /^https\b/);
      });
    }
  });
}
