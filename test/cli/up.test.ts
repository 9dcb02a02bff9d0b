/** `postern up`: from an empty machine to a server that answers at its public name. */
import assert from "node:assert/strict";
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttps } from "node:https";
import { createServer } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { startCommand } from "../support/command.ts";
import { freePort } from "../support/connections.ts";
import { startDns } from "../support/dns.ts";
import type { TestDns } from "../support/dns.ts";
import { eventually } from "../support/eventually.ts";
import { skipWithoutNamespaces } from "../support/namespace.ts";
import { planPebble } from "../support/pebble.ts";
import type { Pebble, PebblePlan } from "../support/pebble.ts";
import { skipWithout } from "../support/programs.ts";
import { runSharedCommand } from "../support/shared-command.ts";

interface Found {
  readonly outcome: string;
  readonly about: string;
  readonly message: string;
}

interface Result {
  readonly findings: readonly Found[];
  readonly missing_records: readonly { readonly name: string; readonly type: string }[];
  readonly ready: boolean;
  readonly console_url?: string;
  readonly join_command?: string;
}

describe("postern up", { skip: skipWithout("pebble"), timeout: 120_000 }, () => {
  let plan: PebblePlan;
  let pebble: Pebble;
  let dns: TestDns;
  let directory: string;
  let ports: { https: number; http: number; agents: number; api: number };
  const domain = "t.example.org";

  before(async () => {
    plan = await planPebble();
    dns = await startDns();
    directory = mkdtempSync(join(tmpdir(), "postern-up-"));
    writeFileSync(join(directory, "acme-ca.pem"), plan.ca);
    ports = { https: await freePort(), http: await freePort(), agents: await freePort(), api: await freePort() };
    pebble = await plan.start(ports);
    writeFileSync(join(directory, "root.pem"), await pebble.issuingRoot());
  });
  after(async () => {
    await pebble.stop();
    await dns.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  beforeEach(() => dns.addresses.clear());

  const options = (more: Readonly<Record<string, string | number | true>> = {}): string[] =>
    Object.entries<string | number | true>({
      domain,
      email: "ops@example.test",
      address: "127.0.0.1",
      data: join(directory, "data"),
      file: join(directory, "postern.yaml"),
      "https-listen": `127.0.0.1:${ports.https}`,
      "http-listen": `127.0.0.1:${ports.http}`,
      "agent-listen": `127.0.0.1:${ports.agents}`,
      "api-listen": `127.0.0.1:${ports.api}`,
      "acme-directory": plan.directoryUrl,
      "acme-ca": join(directory, "acme-ca.pem"),
      "name-server": dns.address,
      ...more,
    }).flatMap(([name, value]) => (value === true ? [`--${name}`] : [`--${name}`, String(value)]));

  const check = async (more: Parameters<typeof options>[0] = {}): Promise<{ code: number | null; result: Result }> => {
    const { code, stdout, stderr } = await runSharedCommand(["up", ...options({ ...more, check: true, json: true })]);
    assert.notEqual(stdout, "", stderr);
    return { code, result: JSON.parse(stdout) as Result };
  };
  const wrongOf = ({ findings }: Result): readonly Found[] => findings.filter(({ outcome }) => outcome === "wrong");

  it("postern up --check passes on a machine with correct names, ports and authority, and changes nothing", async () => {
    const { code, result } = await check();
    assert.deepEqual(wrongOf(result), []);
    assert.equal(code, 0);
    assert.throws(() => readFileSync(join(directory, "postern.yaml")), { code: "ENOENT" });
    const about = result.findings.map((one) => one.about);
    assert.ok(about.includes(domain) && about.includes(`idp.${domain}`) && about.includes("clock"), about.join("\n"));
  });

  it("postern up --check prints the missing DNS records, for a zone file and for a form", async () => {
    const { code, result } = await check({ domain: "a.nowhere.test", address: "203.0.113.10" });
    assert.equal(code, 1);
    assert.deepEqual(result.missing_records, [
      { name: "a.nowhere.test", type: "A" },
      { name: "*.a.nowhere.test", type: "A" },
    ]);
    const shown = await runSharedCommand([
      "up",
      ...options({ domain: "a.nowhere.test", address: "203.0.113.10", check: true }),
    ]);
    assert.match(shown.stdout, /^ {2}\*\.a\.nowhere\.test\. 300 IN A 203\.0\.113\.10$/m);
    assert.match(shown.stdout, /^ {2}\*\.a\.nowhere\.test +A +203\.0\.113\.10$/m);
  });

  it("postern up --check rejects a name that resolves to another machine", async () => {
    dns.addresses.set(`idp.${domain}`, ["203.0.113.99"]);
    const [wrong, ...more] = wrongOf((await check()).result);
    assert.deepEqual([wrong?.about, more], [`idp.${domain}`, []]);
    assert.match(wrong?.message ?? "", /203\.0\.113\.99, which is not an address of this machine \(127\.0\.0\.1\)/);
  });

  it("postern up --check names the program that uses a port", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    try {
      const [wrong, ...more] = wrongOf((await check({ "agent-listen": `127.0.0.1:${port}` })).result);
      assert.deepEqual([wrong?.about, more], [`port ${port} (agents)`, []]);
      if (process.platform === "linux")
        assert.match(wrong?.message ?? "", new RegExp(`\\(process ${process.pid}\\) uses it`));
    } finally {
      other.close();
    }
  });

  it("postern up --check reports an authority that does not answer", async () => {
    const { result } = await check({ "acme-directory": `https://127.0.0.1:${await freePort()}/dir` });
    assert.deepEqual(
      wrongOf(result).map(({ about }) => about),
      ["certificate authority"],
    );
  });

  it("postern up --check reports a clock that the authority does not share", async () => {
    const authority = await createAuthority({ commonName: "Late", now: Date.now() });
    const leaf = await issueLeaf(authority, { names: ["127.0.0.1"], now: Date.now(), days: 2 });
    const late = createHttps({ cert: leaf.certificatePem, key: leaf.keyPem }, (_, response) => {
      response.setHeader("date", new Date(Date.now() - 3_600_000).toUTCString());
      response.end(JSON.stringify({ newOrder: "https://127.0.0.1/order" }));
    }).listen(0, "127.0.0.1");
    await once(late, "listening");
    writeFileSync(join(directory, "late-ca.pem"), authority.certificatePem);
    try {
      const { result } = await check({
        "acme-directory": `https://127.0.0.1:${(late.address() as AddressInfo).port}/dir`,
        "acme-ca": join(directory, "late-ca.pem"),
      });
      const [wrong, ...more] = wrongOf(result);
      assert.deepEqual([wrong?.about, more], ["clock", []]);
      assert.match(wrong?.message ?? "", /^is 3(?:599|60\d) s ahead: enable time synchronization/);
    } finally {
      late.close();
    }
  });

  it("postern up --check refuses a name that leads to IPv6 if the machine has none", async () => {
    const wrong = wrongOf((await check({ domain: "a.two.test" })).result);
    assert.deepEqual(
      wrong.map(({ about }) => about.replace(/-[0-9a-f]{8}\./, "-X.")),
      ["a.two.test", "postern-check-X.a.two.test", "idp.a.two.test"],
    );
    for (const { message } of wrong) assert.match(message, /leads to ::1, but this machine has no IPv6 address/);
  });

  it("postern up --check names the record of a login host outside of the domain", async () => {
    const { result } = await check({ "idp-host": "login.nowhere.test" });
    assert.deepEqual(
      wrongOf(result).map(({ about }) => about),
      ["login.nowhere.test"],
    );
    assert.deepEqual(result.missing_records, [{ name: "login.nowhere.test", type: "A" }]);
  });

  it("postern up --check --wait ends when the records exist, and shows each list of missing records once", async () => {
    dns.addresses.set("a.nowhere.test", ["127.0.0.1"]);
    const waiting = startCommand(["up", ...options({ domain: "a.nowhere.test", check: true, wait: true })]);
    await eventually(
      () => waiting.stdout(),
      (text) => text.includes("Waiting for the records."),
    );
    const looks = dns.queries.length;
    await eventually(
      () => dns.queries.length,
      (count) => count > looks,
    );
    dns.addresses.set("*.a.nowhere.test", ["127.0.0.1"]);
    const { code, stdout } = await waiting.finished;
    assert.equal(code, 0, stdout);
    assert.equal(stdout.match(/Waiting for the records/g)?.length, 1);
    assert.match(stdout, /^ {2}\*\.a\.nowhere\.test\. 300 IN A 127\.0\.0\.1$/m);
    assert.match(stdout, /^✓ idp\.a\.nowhere\.test: leads to 127\.0\.0\.1$/m);
    assert.equal(stdout.match(/✓ clock/g)?.length, 1);
  });

  const namespaces = skipWithoutNamespaces();
  /** The wrong findings of the command in a shell that may change the namespaces around it. */
  const wrongIn = async (wrap: string, more: Parameters<typeof options>[0] = {}): Promise<readonly Found[]> => {
    const args = ["up", ...options({ ...more, check: true, json: true })];
    const { stdout, stderr } = await startCommand(args, { wrap }).finished;
    assert.notEqual(stdout, "", stderr);
    return wrongOf(JSON.parse(stdout) as Result);
  };
  /** Root without its capabilities: other users may not read the bundle that the command runs from. */
  const unprivileged = "setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all";

  it("postern up --check reports a disk that is full", { skip: namespaces }, async () => {
    const disk = join(directory, "disk");
    mkdirSync(disk);
    const full = `unshare -m sh -c 'mount -t tmpfs -o size=8k none ${disk} && exec "$@"' sh "$@"`;
    const wrong = await wrongIn(full, { data: join(disk, "data") });
    assert.deepEqual(
      wrong.map(({ about }) => about),
      [`disk at ${disk}`, `durable writes at ${disk}`],
    );
    assert.match(wrong[0]?.message ?? "", /^0\.0 GB free: free at least 1 GB$/);
    assert.match(wrong[1]?.message ?? "", /ENOSPC.*--data/);
  });

  it("postern up --check reports a data directory that this user cannot write", { skip: namespaces }, async () => {
    const folder = join(directory, "of-another");
    mkdirSync(folder, { mode: 0o755 });
    chownSync(folder, 65_534, 65_534);
    const [wrong, ...more] = await wrongIn(`exec ${unprivileged} "$@"`, {
      data: join(folder, "data"),
      foreground: true,
    });
    assert.deepEqual([wrong?.about, more], [`durable writes at ${folder}`, []]);
    assert.match(wrong?.message ?? "", /cannot write there \(EACCES.*run with sudo, or set --data/);
  });

  it("postern up --check requires privileges for low ports only without a service", { skip: namespaces }, async () => {
    const wrap = `unshare -n sh -c 'ip link set lo up && exec ${unprivileged} "$@"' sh "$@"`;
    const low = { "https-listen": "127.0.0.1:443", "http-listen": "127.0.0.1:80" };
    const ofPorts = (all: readonly Found[]): readonly Found[] => all.filter(({ about }) => about.startsWith("port "));
    const refused = ofPorts(await wrongIn(wrap, { ...low, foreground: true }));
    assert.deepEqual(
      refused.map(({ about }) => about),
      ["port 443 (HTTPS)", "port 80 (HTTP)"],
    );
    for (const { message } of refused) assert.match(message, /may not use ports below 1024: run the command with sudo/);
    assert.deepEqual(ofPorts(await wrongIn(wrap, low)), []);
  });

  it("postern up --check reports a limit of open files that is too low for a server in the terminal", async () => {
    const wrong = await wrongIn(`ulimit -n 1024; exec "$@"`, { foreground: true });
    assert.deepEqual(
      wrong.map(({ about, message }) => `${about}: ${message}`),
      ["open files: at most 1024: raise the limit to 65536"],
    );
    assert.deepEqual(await wrongIn(`ulimit -n 1024; exec "$@"`), []);
  });

  it("postern up stops before it changes anything if a check fails", async () => {
    dns.addresses.set(domain, ["203.0.113.99"]);
    const { code, stdout } = await runSharedCommand(["up", ...options({ foreground: true })]);
    assert.equal(code, 1);
    assert.match(stdout, /Nothing was changed\./);
    assert.throws(() => readFileSync(join(directory, "postern.yaml")), { code: "ENOENT" });
  });

  it("postern up requires a domain and an e-mail address", async () => {
    const { code, stderr } = await runSharedCommand(["up", "--foreground"]);
    assert.equal(code, 2);
    assert.match(stderr, /--domain.*--email/);
  });

  it("postern up --foreground ends with a server that has a certificate and answers at its public name, also when it runs again", async () => {
    const started: string[] = [];
    for (const expected of [/wrote .*postern\.yaml/, /postern\.yaml is unchanged/]) {
      const running = startCommand(["up", ...options({ foreground: true, json: true })], {
        env: { NODE_EXTRA_CA_CERTS: join(directory, "root.pem") },
      });
      const line = await running
        .firstLine()
        .catch((error: unknown) => assert.fail(`${String(error)}\n${running.stderr()}`));
      const result = JSON.parse(line) as Result;
      assert.deepEqual(wrongOf(result), []);
      assert.ok(result.ready, running.stderr());
      assert.match(result.console_url ?? "", /^http/);
      assert.match(result.join_command ?? "", /^postern join pj1_/);
      assert.match(running.stderr(), expected);
      const shown = result.findings.filter(({ message }) => /shows a certificate until/.test(message));
      assert.equal(shown.length, 1);
      started.push(readFileSync(join(directory, "postern.yaml"), "utf8"));
      const ended = await running.end();
      assert.equal(ended.code, 0, ended.stderr);
    }
    assert.equal(started[0], started[1]);
  });

  it("postern up does not replace a configuration file with other settings, and prints the new ones", async () => {
    writeFileSync(join(directory, "other.yaml"), "domain: other.example\n");
    const args = options({ foreground: true, file: join(directory, "other.yaml") });
    const { code, stderr } = await runSharedCommand(["up", ...args]);
    assert.equal(code, 2);
    assert.match(stderr, /exists with other settings[^]*domain: "t\.example\.org"/);
    assert.equal(readFileSync(join(directory, "other.yaml"), "utf8"), "domain: other.example\n");
  });
});
