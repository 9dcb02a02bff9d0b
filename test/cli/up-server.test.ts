/** `postern up` on a fresh server, as a new user would: names from BIND, the usual ports, a service, and a laptop. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { root } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startFreshServer } from "../support/fresh-server.ts";
import type { FreshServer } from "../support/fresh-server.ts";
import { skipWithoutNamespaces } from "../support/namespace.ts";
import { skipWithout } from "../support/programs.ts";

const domain = "t.example.org";
/** The service's user must be able to read the checkout. */
const inHome = /^\/(?:home|root|run\/user)\//.test(root) && "needs a checkout outside of home directories";
const skip = skipWithoutNamespaces() || inHome || skipWithout("pebble", "named", "curl");

describe("postern up on a fresh server", { skip, timeout: 240_000 }, () => {
  let server: FreshServer;
  const home = mkdtempSync(join(tmpdir(), "postern-laptop-"));
  before(async () => {
    server = await startFreshServer(domain);
  });
  after(async () => {
    await server.stop();
    rmSync(home, { recursive: true, force: true });
  });
  const up = async (...more: string[]) => {
    const args = ["up", "--domain", domain, "--email", "ops@example.test", ...more];
    const authority = ["--acme-directory", server.directoryUrl, "--acme-ca", server.acmeCa];
    const ended = await server.start([...args, ...authority], { NODE_EXTRA_CA_CERTS: server.issuingRoot }).finished;
    return { ...ended, shown: `${ended.stdout}\n${ended.stderr}\n${ended.code}` };
  };

  it("postern up publishes a laptop's service in five commands, one pause for DNS records, and without a question", async () => {
    // Nothing is on stdin, so a question would end the command.
    const first = await up();
    assert.equal(first.code, 1, first.shown);
    assert.match(first.stdout, /Nothing was changed\./);
    assert.equal(first.stdout.match(/^✗/gm)?.length, 3, "the three names, and nothing else");
    const records = first.stdout.match(/^ {2}\S+ 300 IN A \S+$/gm) ?? [];
    assert.deepEqual(
      records.map((line) => line.trim()),
      [`${domain}. 300 IN A ${server.address}`, `*.${domain}. 300 IN A ${server.address}`],
    );
    await server.addRecords(records.map((line) => line.trim()));

    const second = await up();
    assert.equal(second.code, 0, `${second.shown}\n${server.serviceLog()}`);
    assert.match(second.stdout, new RegExp(`The server is ready: https://NAME\\.${domain.replaceAll(".", "\\.")}\n`));
    assert.match(second.stdout, /^Before browsers visit a name, request its certificate: docs\/guides\//m);
    const joinCommand = /postern (join pj1_\S+)$/m.exec(second.stdout)?.[1] ?? "";
    const publish = /postern (http 3000 --url \S+)$/m.exec(second.stdout)?.[1] ?? "";

    // Names other than the login host have a certificate of the server's own CA until they are reserved.
    const config = ["--config", "/etc/postern/postern.yaml", "--domain", `app.${domain}`];
    const policy = JSON.stringify({ authority: "letsencrypt", private_key_type: "ecdsa" });
    const asService = ["setpriv", "--reuid", "postern", "--regid", "postern", "--init-groups", process.execPath];
    const reserve = ["bin/postern.js", "api", "reserved_domains", "create", ...config];
    const reserved = await server.run(...asService, ...reserve, "--certificate-management-policy", policy);
    assert.equal(reserved.code, 0, reserved.stderr);

    const laptop = { HOME: home, XDG_CONFIG_HOME: home };
    const joined = await server.start(joinCommand.split(" "), laptop).finished;
    assert.equal(joined.code, 0, joined.stderr);
    const web = server.run(
      process.execPath,
      "-e",
      `require("node:http").createServer((q, r) => { r.end("from the laptop"); if (q.url === "/end") process.exit(); }).listen(3000, "127.0.0.1")`,
    );
    const agent = server.start([...publish.replace("NAME", "app").split(" "), "--json"], laptop);
    const { url } = JSON.parse(await agent.firstLine()) as { readonly url: string };
    assert.equal(url, `https://app.${domain}`);
    const visit = (path: string) => server.run("curl", "-sS", "--cacert", server.issuingRoot, `${url}${path}`);
    const visited = await eventually(
      () => visit("/"),
      ({ code }) => code === 0,
      500,
    );
    assert.equal(visited.stdout, "from the laptop");
    const redirected = await server.run(
      "curl",
      "-sS",
      "-o",
      "/dev/null",
      "-w",
      "%{redirect_url}",
      `http://app.${domain}/a`,
    );
    assert.equal(redirected.stdout, `${url}/a`);
    await visit("/end");
    await web;
    await agent.end("SIGINT");
  });

  it("postern up installs a service that runs as its own user, and leaves it alone unless its settings change", async () => {
    assert.deepEqual(server.serviceCalls(), [
      "daemon-reload",
      "is-active --quiet postern.service",
      "enable postern.service",
      "start postern.service",
    ]);
    const owner = await server.run("stat", "-c", "%U %a", "/var/lib/postern", "/var/lib/postern/api-key");
    assert.equal(owner.stdout, "postern 700\npostern 600\n");

    const again = await up("--json");
    assert.equal(again.code, 0, again.shown);
    assert.match(again.stderr, /postern\.yaml is unchanged/);
    assert.deepEqual(server.serviceCalls(), ["is-active --quiet postern.service", "enable postern.service"]);

    const refused = await up("--http-listen", "off");
    assert.equal(refused.code, 2, refused.shown);
    assert.match(refused.stderr, /exists with other settings/);
    assert.deepEqual(server.serviceCalls(), []);

    const changed = await up("--http-listen", "off", "--force");
    assert.equal(changed.code, 0, changed.shown);
    assert.deepEqual(server.serviceCalls(), [
      "is-active --quiet postern.service",
      "enable postern.service",
      "restart postern.service",
    ]);
  });

  it("postern up repairs a unit that was removed", async () => {
    await server.run("rm", "/etc/systemd/system/postern.service");
    const { code, shown } = await up("--http-listen", "off");
    assert.equal(code, 0, shown);
    assert.deepEqual(server.serviceCalls(), [
      "daemon-reload",
      "is-active --quiet postern.service",
      "enable postern.service",
      "restart postern.service",
    ]);
  });
});
