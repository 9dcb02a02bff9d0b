import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { makeManualClock } from "../../../../test/support/clock.ts";
import { startDnsApis } from "../../../../test/support/dns-apis.ts";
import type { ApiName, DnsApis } from "../../../../test/support/dns-apis.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import { systemClock } from "../../../lib/clock.ts";
import { AcmeProblem } from "../../problem.ts";
import type { DnsProviderName } from "../provider-names.ts";
import { openDnsProvider } from "./open.ts";
import type { DnsProvider, ProviderAccess } from "../dns-provider.ts";

const zone = "example.com";
const one = { name: "_acme-challenge.shop.example.com", zone, value: "a".repeat(43) };
const two = { ...one, value: "b".repeat(43) };
const problem =
  (words: RegExp) =>
  (error: unknown): boolean =>
    error instanceof AcmeProblem && error.type === "dnsProvider" && words.test(error.message);

describe("DNS providers with an HTTP API", () => {
  let apis: DnsApis;

  before(async () => {
    apis = await startDnsApis();
  });
  after(() => apis.stop());
  beforeEach(() => {
    apis.texts.clear();
    apis.answer = undefined;
  });

  const names: readonly ApiName[] = [
    "cloudflare",
    "digitalocean",
    "gandi",
    "hetzner",
    "route53",
    "webhook",
    "acme-dns",
  ];
  const hasKey = (name: ApiName): boolean => name === "route53" || name === "acme-dns";
  const open = (name: ApiName, more: ProviderAccess = {}, clock = systemClock): DnsProvider => {
    const key = hasKey(name) ? { key: apis.key } : {};
    // The signature of Amazon covers the path, which starts at the host.
    const access = { url: apis.url(name), ca: apis.ca, secret: apis.secret, ...key, ...more };
    return openDnsProvider(name, access, clock);
  };

  for (const name of names.filter((other) => other !== "acme-dns")) {
    it(`${name} adds records beside others, removes only its own, and accepts repetitions`, async () => {
      const provider = open(name);
      await provider.present(one);
      if (name !== "webhook") await provider.present(one);
      await provider.present(two);
      assert.deepEqual(apis.texts, new Map([[one.name, [one.value, two.value]]]));
      await provider.cleanup(one);
      assert.deepEqual(apis.texts, new Map([[one.name, [two.value]]]));
      await provider.cleanup(one);
      await provider.cleanup(two);
      await provider.cleanup(two);
      assert.deepEqual(apis.texts, new Map());
      assert.deepEqual(apis.faults, []);
    });
  }

  it("acme-dns updates the subdomain to which the CNAME record leads", async () => {
    const provider = open("acme-dns");
    const record = { name: "8e5700ea-a4bf-41c7-8a77-e990661dcc6a.example.com", zone, value: one.value };
    await provider.present(record);
    await provider.cleanup(record);
    assert.deepEqual(apis.texts, new Map([[record.name, [one.value]]]));
    assert.deepEqual(apis.faults, []);
  });

  for (const name of names) {
    it(`I7: ${name} reports a wrong secret, an error, and an API that does not answer, without the secret`, async () => {
      const secret = "another/secret/that/is/wrong";
      await assert.rejects(open(name, { secret }).present(one), (error: Error) => {
        assert.match(error.message, /status 40[13].*Unable to authenticate you/);
        assert.ok(!error.message.includes(secret));
        return problem(/./)(error);
      });
      assert.deepEqual(apis.texts, new Map());
      apis.answer = { status: 429, body: "{}", headers: { "retry-after": "120" } };
      await assert.rejects(open(name).present(one), (error: AcmeProblem) => error.retryAfterMs === 120_000);
      apis.answer = { status: 500, body: "\u0007<html>" };
      await assert.rejects(open(name).present(one), problem(/with status 500$/));
      apis.answer = { status: 302, body: "", headers: { location: "https://localhost/elsewhere" } };
      await assert.rejects(open(name).present(one), problem(/with status 302$/));
      apis.answer = "silence";
      const clock = makeManualClock(Date.now());
      const count = apis.calls.length;
      const asked = assert.rejects(open(name, {}, clock).present(one), problem(/no answer within 10 s/));
      await eventually(
        () => apis.calls.length,
        (calls) => calls > count,
      );
      clock.pass(10_000);
      await asked;
    });
  }

  it("providers report a zone that the credentials do not include", async () => {
    const elsewhere = { ...one, zone: "elsewhere.org", name: "_acme-challenge.elsewhere.org" };
    await assert.rejects(open("cloudflare").present(elsewhere), problem(/cannot read a zone "elsewhere.org"/));
    await assert.rejects(open("route53").present(elsewhere), problem(/no public hosted zone "elsewhere.org"/));
  });
});

describe("DNS providers and their settings", () => {
  it("settings for a DNS provider that are missing, wrong or without effect are refused with their flags", () => {
    const cases: readonly (readonly [DnsProviderName, ProviderAccess, RegExp])[] = [
      ["rfc2136", { key: "k" }, /rfc2136 needs --acme-dns-server, --acme-dns-secret/],
      ["cloudflare", {}, /cloudflare needs --acme-dns-secret/],
      ["cloudflare", { secret: "s", key: "k" }, /does not use --acme-dns-key: remove it/],
      ["webhook", { secret: "s" }, /webhook needs --acme-dns-url/],
      ["exec", {}, /exec needs --acme-dns-program/],
      ["exec", { program: "/nowhere/dns.sh" }, /"\/nowhere\/dns.sh" must be an executable file/],
      ["rfc2136", { server: { host: "::1", port: 53 }, key: "k", secret: "not base64!" }, /in base 64/],
      ["rfc2136", { server: { host: "::1", port: 53 }, key: "a..b", secret: "QUJDREVGR0hJSktMTU5PUA==" }, /TSIG key/],
    ];
    for (const [name, access, words] of cases) assert.throws(() => openDnsProvider(name, access, systemClock), words);
  });
});

describe("a DNS provider over TCP", () => {
  it("rfc2136 bounds the time of a name server that accepts and says nothing, and reports malformed answers", async () => {
    let reply: Buffer | undefined;
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.on("data", () => reply && socket.write(reply));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const access = { server: { host: "127.0.0.1", port }, key: "k", secret: "QUJDREVGR0hJSktMTU5PUA==" };
    try {
      const clock = makeManualClock(Date.now());
      const connected = once(server, "connection");
      const sent = assert.rejects(
        openDnsProvider("rfc2136", access, clock).present(one),
        problem(/no answer within 10 s/),
      );
      await connected;
      clock.pass(10_000);
      await sent;
      for (const bytes of ["00020000", "000c000028000001ffffffffffff"]) {
        reply = Buffer.from(bytes, "hex");
        await assert.rejects(openDnsProvider("rfc2136", access, systemClock).present(one), problem(/malformed answer/));
      }
    } finally {
      server.close();
    }
  });
});

describe("the operator's DNS program", () => {
  const files = mkdtempSync(join(tmpdir(), "postern-dns-program-"));
  after(() => rmSync(files, { recursive: true }));
  const program = (name: string, lines: string): string => {
    const path = join(files, name);
    writeFileSync(path, `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
    return path;
  };

  it("I12: the DNS program gets the record as words, and nothing of the server's environment", async () => {
    const output = join(files, "output");
    process.env["POSTERN_TEST_CANARY"] = "canary";
    const path = program("words.sh", `{ printf '%s\\n' "$@"; env; } > ${output}`);
    await openDnsProvider("exec", { program: path }, systemClock).present({ ...one, name: "a.$(touch x).test" });
    delete process.env["POSTERN_TEST_CANARY"];
    const text = readFileSync(output, "utf8");
    assert.ok(text.startsWith(`present\na.$(touch x).test.\n${one.value}\n`), text);
    assert.doesNotMatch(text, /canary|HOME=/);
  });

  it("I12: the DNS program's output is bounded, and only in the cause of its failure", async () => {
    const path = program("fails.sh", "yes secret-of-the-script | head -c 1000000; exit 3");
    await assert.rejects(openDnsProvider("exec", { program: path }, systemClock).cleanup(one), (error: AcmeProblem) => {
      assert.match(error.message, /cleanup\) ended with exit code 3$/);
      assert.match(String(error.cause), /secret-of-the-script/);
      assert.ok(String(error.cause).length <= 4_096);
      return error.type === "dnsProvider";
    });
  });

  it("I12: a DNS program that hangs ends after a minute, with its children", async () => {
    const started = join(files, "started");
    const path = program("hangs.sh", `sleep 600 & echo $! > ${started}.part; mv ${started}.part ${started}; wait`);
    const clock = makeManualClock(Date.now());
    const run = assert.rejects(
      openDnsProvider("exec", { program: path }, clock).present(one),
      problem(/did not end within 60 s/),
    );
    await eventually(
      () => existsSync(started),
      (exists) => exists,
    );
    clock.pass(60_000);
    await run;
    const child = Number(readFileSync(started, "utf8"));
    await eventually(
      () => isAlive(child),
      (alive) => !alive,
    );
  });
});

function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}
