/** Certificates by DNS checks: pebble asks BIND, in which the server sets records. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { AcmeSettings } from "../../src/settings/acme.ts";
import { hasCertificate, hasFailed, settingsFor, shownTo, startAcmeServer } from "../support/acme-server.ts";
import type { AcmeServer } from "../support/acme-server.ts";
import { startBind } from "../support/bind.ts";
import type { TestBind } from "../support/bind.ts";
import { startDns } from "../support/dns.ts";
import { eventually } from "../support/eventually.ts";
import { planPebble } from "../support/pebble.ts";
import type { Pebble, PebblePlan } from "../support/pebble.ts";
import { skipWithout } from "../support/programs.ts";

const files = mkdtempSync(join(tmpdir(), "postern-acme-dns-"));
after(() => rmSync(files, { recursive: true }));

function dnsSettings(plan: PebblePlan, bind: TestBind): AcmeSettings {
  return {
    ...settingsFor(plan),
    acmeChallenge: "dns-01",
    acmeDnsProvider: "rfc2136",
    acmeDnsServer: { host: bind.host, port: bind.port },
    acmeDnsKey: bind.key.name,
    acmeDnsSecret: bind.key.secret,
    acmeDnsZone: ["example.test", "acme.test"],
    acmeDnsResolver: [bind.address],
    acmeDnsTimeout: 20,
  };
}

describe("certificates by DNS", { skip: skipWithout("pebble", "named") }, () => {
  let bind: TestBind;
  let plan: PebblePlan;
  let pebble: Pebble;
  let server: AcmeServer;

  before(async () => {
    bind = await startBind({
      zones: {
        "example.test": ["_acme-challenge.shop CNAME shop.acme.test."],
        "acme.test": [],
        "other.test": [],
      },
    });
    plan = await planPebble();
    server = await startAcmeServer(dnsSettings(plan, bind));
    // Nothing answers at the ports of the other checks.
    pebble = await plan.start({ http: 9, https: 9 }, bind.address);
  });
  after(async () => {
    await server.stop();
    await pebble.stop();
    await bind.stop();
  });
  /** The record goes just after the result is stored. */
  const gone = (name: string): Promise<unknown> =>
    eventually(
      () => bind.texts(name),
      (texts) => texts.length === 0,
    );

  it("certificates by DNS are issued for a wildcard and its base together, served, and leave no record", async () => {
    const [wildcard, base] = await Promise.all([
      server.reserve("*.many.example.test"),
      server.reserve("many.example.test"),
    ]);
    for (const { id } of [wildcard, base]) await server.until(id, hasCertificate);
    const { certificate, certificate_management_status: status } = await server.until(wildcard.id, hasCertificate);
    assert.equal(status.challenge_type, "dns-01");
    const kept = await server.call("GET", `/tls_certificates/${certificate.id}`);
    assert.deepEqual(kept.subject_alternative_names.dns_names, ["*.many.example.test"]);
    const shown = await shownTo("any.many.example.test", server.edge.https.port, await pebble.issuingRoot());
    assert.equal(shown.serialNumber.toLowerCase(), kept.serial_number);
    await gone("_acme-challenge.many.example.test");
  });

  it("certificates by DNS include one for all names of the server's domain, which holds no name and is in no document", async () => {
    const { reserved_domains: domains } = await server.call("GET", "/reserved_domains");
    const { id } = domains.find((one: { domain: string }) => one.domain === "*.apps.example.test");
    // The first attempt was before the authority was there.
    await server.until(id, (one) => hasFailed(one) || hasCertificate(one));
    if (!hasCertificate(await server.call("GET", `/reserved_domains/${id}`))) server.clock.advance(3 * 60_000);
    await server.until(id, hasCertificate);
    await server.call("POST", "/edges/https", { hostports: ["shop.apps.example.test:443"] });
    const root = await pebble.issuingRoot();
    for (const host of ["shop.apps.example.test", "stranger.apps.example.test"]) {
      const { subjectAltName } = await shownTo(host, server.edge.https.port, root);
      assert.equal(subjectAltName, "DNS:*.apps.example.test");
    }
    const { objects } = await server.call("GET", "/export");
    assert.doesNotMatch(JSON.stringify(objects.reserved_domain ?? objects), /\*\.apps\.example\.test/);
  });

  it("certificates by DNS follow a CNAME record of _acme-challenge", async () => {
    const { id } = await server.reserve("*.shop.example.test");
    await server.until(id, hasCertificate);
    assert.match(bind.log(), /updating zone 'acme\.test\/IN': adding an RR at 'shop\.acme\.test' TXT/);
    await gone("shop.acme.test");
  });

  it("I11: certificates by DNS are refused for a name outside the operator's zones", async () => {
    const { id } = await server.reserve("*.other.test");
    const { provisioning_job: job } = (await server.until(id, hasFailed)).certificate_management_status;
    assert.equal(job.error_code, "DNS_ZONE_REFUSED", job.msg);
    const { problems } = await server.call("GET", "/problems");
    const problem = problems.find((one: { id: string }) => one.id === id);
    assert.deepEqual(
      [problem.kind, problem.message],
      ["reserved_domain", `no certificate (DNS_ZONE_REFUSED): ${job.msg}`],
    );
    await server.call("DELETE", `/reserved_domains/${id}/certificate_management_policy`);
    const isLeft = (body: { problems: { id: string }[] }): boolean => body.problems.some((one) => one.id === id);
    await eventually(
      () => server.call("GET", "/problems"),
      (body) => !isLeft(body),
    );
    assert.doesNotMatch(bind.log(), /updating zone 'other\.test/);
  });
});

describe("certificates by DNS that fail", { skip: skipWithout("pebble", "named", "nsupdate") }, () => {
  let bind: TestBind;

  before(async () => {
    bind = await startBind({ zones: { "example.test": [] } });
  });
  after(() => bind.stop());

  /** Runs `work` with a server and pebble. */
  async function withServer(
    change: (settings: AcmeSettings) => AcmeSettings,
    work: (server: AcmeServer) => Promise<void>,
  ): Promise<void> {
    const plan = await planPebble();
    const server = await startAcmeServer(change(dnsSettings(plan, bind)));
    const pebble = await plan.start({ http: 9, https: 9 }, bind.address);
    try {
      await work(server);
    } finally {
      await server.stop();
      await pebble.stop();
    }
  }

  it("certificates by DNS with a wrong TSIG key say what the name server answers", async () => {
    const wrong = Buffer.alloc(32, 9).toString("base64");
    await withServer(
      (settings) => ({ ...settings, acmeDnsSecret: wrong }),
      async (server) => {
        const { id } = await server.reserve("*.wrong.example.test");
        const { provisioning_job: job } = (await server.until(id, hasFailed)).certificate_management_status;
        assert.equal(job.error_code, "DNS_PROVIDER_ERROR");
        assert.match(job.msg, /BADSIG: the secret of the key is wrong/);
        assert.doesNotMatch(JSON.stringify(await server.call("GET", "/reserved_domains")), new RegExp(wrong));
      },
    );
  });

  it("certificates by DNS wait for a slow name server, and fail in the end with its address, without a record left", async () => {
    const slow = await startDns();
    try {
      await withServer(
        (settings) => ({
          ...byProgram(bind)(settings),
          acmeDnsResolver: [bind.address, slow.address],
          acmeDnsTimeout: 5,
        }),
        async (server) => {
          const { id } = await server.reserve("*.slow.example.test");
          const { provisioning_job: job } = (await server.until(id, hasFailed)).certificate_management_status;
          assert.equal(job.error_code, "DNS_PROPAGATION_TIMEOUT", job.msg);
          assert.ok(job.msg.includes(slow.address), job.msg);
          const added = /adding an RR at '_acme-challenge\.slow\.example\.test' TXT "([\w-]+)"/g;
          // The next attempt gets its certificate once the slow server follows.
          server.clock.advance(10 * 60_000);
          for (;;) {
            const values = [...bind.log().matchAll(added)].map(([, value]) => value as string);
            slow.texts.set("_acme-challenge.slow.example.test", values);
            const domain = await server.call("GET", `/reserved_domains/${id}`);
            if (hasCertificate(domain)) break;
          }
        },
      );
      assert.deepEqual(await bind.texts("_acme-challenge.slow.example.test"), []);
    } finally {
      await slow.stop();
    }
  });

  it("certificates by DNS are renewed by the operator's program, and no record is left", async () => {
    await withServer(byProgram(bind), async (server) => {
      const { id } = await server.reserve("*.program.example.test");
      const before = await server.until(id, hasCertificate);
      server.clock.advance(Date.parse(before.certificate_management_status.renews_at) - server.clock.now() + 1000);
      await server.until(id, (one) => hasCertificate(one) && one.certificate.id !== before.certificate.id);
    });
    const change = /(adding|deleting) an RR at '?_acme-challenge\.program\.example\.test'? TXT/g;
    const changes = [...bind.log().matchAll(change)].map(([, what]) => what);
    // At this time, each certificate of pebble is due as soon as it is issued.
    assert.ok(changes.length >= 4);
    assert.deepEqual(new Set(changes.filter((_, at) => at % 2 === 0)), new Set(["adding"]));
    assert.equal(changes.filter((what) => what === "deleting").length, changes.length / 2);
    assert.deepEqual(await bind.texts("_acme-challenge.program.example.test"), []);
  });
  it("certificates by DNS whose record could not be removed are issued, and the next attempt removes it", async () => {
    const name = "_acme-challenge.left.example.test";
    const broken = join(files, "broken");
    writeFileSync(broken, "");
    await withServer(byProgram(bind), async (server) => {
      const { id } = await server.reserve("*.left.example.test");
      const before = await server.until(id, hasCertificate);
      const [left] = await bind.texts(name);
      assert.ok(left);
      await server.restart();
      assert.deepEqual(await bind.texts(name), [left]);
      rmSync(broken);
      server.clock.advance(Date.parse(before.certificate_management_status.renews_at) - server.clock.now() + 1000);
      await server.until(id, (one) => hasCertificate(one) && one.certificate.id !== before.certificate.id);
    });
    assert.deepEqual(await bind.texts(name), []);
  });
});

/** Writes a program for `exec` that changes BIND with nsupdate. */
function changeProgram(name: string, bind: TestBind): string {
  const program = join(files, name);
  const key = `hmac-sha256:${bind.key.name}:${bind.key.secret}`;
  const lines = [
    "#!/bin/sh -e",
    `case "$1" in cleanup) [ ! -e '${join(files, "broken")}' ] ;; esac`,
    'case "$1" in present) line="add $2 5 TXT" ;; cleanup) line="delete $2 TXT" ;; esac',
    `printf 'server ${bind.host} ${bind.port}\\nupdate %s %s\\nsend\\n' "$line" "$3" | nsupdate -y '${key}'`,
  ];
  writeFileSync(program, `${lines.join("\n")}\n`, { mode: 0o755 });
  return program;
}

/** nsupdate signs with the system's time, whatever the server's clock says. */
function byProgram(bind: TestBind): (settings: AcmeSettings) => AcmeSettings {
  return (settings) => ({
    ...settings,
    acmeDnsProvider: "exec",
    acmeDnsServer: undefined,
    acmeDnsKey: undefined,
    acmeDnsSecret: undefined,
    acmeDnsProgram: changeProgram("change.sh", bind),
  });
}
