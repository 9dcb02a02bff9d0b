/** Certificates from an authority, from the policy on a domain to the handshake. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { acmeSettings } from "../../src/settings/acme.ts";
import { defaultsOf } from "../../src/settings/setting.ts";
import type { Body, TestApi } from "../support/api.ts";
import { hasCertificate, hasFailed, policy, settingsFor, shownTo, startAcmeServer } from "../support/acme-server.ts";
import type { AcmeServer } from "../support/acme-server.ts";
import { planPebble, startRenewalFront } from "../support/pebble.ts";
import { skipWithout } from "../support/programs.ts";
import type { Pebble, RenewalFront } from "../support/pebble.ts";
import { startPlatform } from "../support/platform.ts";
import { startReceiver, subscribe } from "../support/receiver.ts";

const dayMs = 24 * 60 * 60 * 1000;

describe("certificates of an authority", { skip: skipWithout("pebble") }, () => {
  for (const challenge of ["http-01", "tls-alpn-01"] as const) {
    describe(`by ${challenge}`, () => {
      let server: AcmeServer;
      let pebble: Pebble;

      before(async () => {
        const plan = await planPebble();
        server = await startAcmeServer({ ...settingsFor(plan), acmeChallenge: challenge });
        pebble = await plan.start({ http: server.edge.http?.port ?? 0, https: server.edge.https.port });
      });
      after(async () => {
        await server.stop();
        await pebble.stop();
      });

      for (const type of ["ecdsa", "rsa"] as const) {
        it(`certificates from an authority by ${challenge} are issued for a domain with a policy, with an ${type} key, and served immediately`, async () => {
          const host = `${type}.example.test`;
          const reserved = await server.reserve(host, { private_key_type: type });
          assert.equal(reserved.certificate, null);
          assert.equal(typeof reserved.certificate_management_status.provisioning_job.msg, "string");
          const domain = await server.until(reserved.id, hasCertificate);
          const kept = await server.call("GET", `/tls_certificates/${domain.certificate.id}`);
          assert.deepEqual(kept.subject_alternative_names.dns_names, [host]);
          assert.equal(kept.private_key_type, type);
          assert.ok(Date.parse(kept.issued_at) <= Date.now());
          assert.equal(kept.private_key_pem, undefined);
          const { renews_at: renewsAt } = domain.certificate_management_status;
          const life = Date.parse(kept.not_after) - Date.parse(kept.not_before);
          assert.ok(Math.abs(Date.parse(renewsAt) - Date.parse(kept.not_before) - (life * 2) / 3) <= 1000);
          const shown = await shownTo(host, server.edge.https.port, await pebble.issuingRoot());
          assert.equal(shown.serialNumber.toLowerCase(), kept.serial_number);
          assert.deepEqual(domain.certificate_management_policy, { authority: "letsencrypt", private_key_type: type });
          const renamed = await server.call("PATCH", `/reserved_domains/${reserved.id}`, { description: "The shop" });
          assert.deepEqual({ ...renamed, description: "" }, domain);
        });
      }

      it(`K4: certificates of an authority by ${challenge} leave no key in the database that could be used without the sealing key`, async () => {
        const bytes = [server.database, `${server.database}-wal`].map((file) => readFileSync(file, "latin1")).join("");
        assert.match(bytes, /BEGIN CERTIFICATE/);
        assert.doesNotMatch(bytes, /PRIVATE KEY/);
      });

      it(`certificates of an authority by ${challenge} are renewed when two thirds of their life are over, and the old one goes`, async () => {
        const { reserved_domains: domains } = await server.call("GET", "/reserved_domains");
        const before = domains.find((one: Body) => one.domain === "ecdsa.example.test");
        server.clock.advance(Date.parse(before.certificate_management_status.renews_at) - server.clock.now() - dayMs);
        assert.equal(
          (await server.call("GET", `/reserved_domains/${before.id}`)).certificate.id,
          before.certificate.id,
        );
        server.clock.advance(dayMs + 1000);
        const renewed = await server.until(
          before.id,
          (one) => hasCertificate(one) && one.certificate.id !== before.certificate.id,
        );
        const { tls_certificates: left } = await server.call("GET", "/tls_certificates");
        assert.ok(left.every((one: Body) => one.id !== before.certificate.id));
        const kept = await server.call("GET", `/tls_certificates/${renewed.certificate.id}`);
        const shown = await shownTo("ecdsa.example.test", server.edge.https.port, await pebble.issuingRoot());
        assert.equal(shown.serialNumber.toLowerCase(), kept.serial_number);
      });

      it(`certificates of an authority by ${challenge} outlast a restart, and the account is the same`, async () => {
        const { reserved_domains: before } = await server.call("GET", "/reserved_domains");
        await server.restart();
        const { reserved_domains: after } = await server.call("GET", "/reserved_domains");
        // It has just been renewed; the others may be due by now, after the clock's journeys.
        const idOf = (domains: readonly Body[]) =>
          domains.find((one) => one.domain === "ecdsa.example.test").certificate.id;
        assert.equal(idOf(after), idOf(before));
        assert.equal(after.length, before.length);
        const next = await server.reserve("next.example.test");
        await server.until(next.id, hasCertificate);
      });
    });
  }

  describe("that are not given", () => {
    let server: AcmeServer;
    let pebble: Pebble;

    before(async () => {
      const plan = await planPebble();
      server = await startAcmeServer(settingsFor(plan));
      pebble = await plan.start({ http: server.edge.http?.port ?? 0, https: server.edge.https.port });
    });
    after(async () => {
      await server.stop();
      await pebble.stop();
    });

    it("certificates of an authority that are not given say why on the domain, and are tried again after longer and longer pauses", async () => {
      const reserved = await server.reserve("shop.nowhere.test");
      const pauses: number[] = [];
      let retriesAt = "";
      for (let failure = 1; failure <= 4; failure += 1) {
        const domain = await server.until(
          reserved.id,
          (one) => hasFailed(one) && one.certificate_management_status.provisioning_job.retries_at !== retriesAt,
        );
        const { provisioning_job: job, renews_at: renewsAt } = domain.certificate_management_status;
        assert.equal(renewsAt, null);

        assert.match(job.error_code, /^(CONNECTION_ERROR|CHALLENGE_FAILED)$/, job.msg);
        assert.match(job.msg, /shop\.nowhere\.test/);
        pauses.push(Date.parse(job.retries_at) - Date.parse(job.started_at));
        retriesAt = job.retries_at;
        server.clock.advance(Date.parse(retriesAt) - server.clock.now() + 1000);
      }
      const minute = 60_000;
      // of the whole pause at least half, and the attempt itself took some seconds at most
      pauses.forEach((pause, at) => {
        assert.ok(pause >= (minute * 2 ** at) / 2 - 1000, pauses.join());
        assert.ok(pause <= minute * 2 ** at + 30_000, pauses.join());
      });
    });

    it("certificates from an authority that refuses report the authority's reason, and do not delay other domains", async () => {
      const blocked = await server.reserve("blocked.example.test");
      const fine = await server.reserve("fine.example.test");
      const { certificate_management_status: status } = await server.until(blocked.id, hasFailed);
      assert.equal(status.provisioning_job.error_code, "DOMAIN_REJECTED");
      assert.match(status.provisioning_job.msg, /blocked/);
      await server.until(fine.id, hasCertificate);
    });

    it("certificates of an authority that are not given for a wildcard, say that they are not tried", async () => {
      const reserved = await server.reserve("*.many.example.test");
      const { certificate_management_status: status } = await server.until(
        reserved.id,
        (one) => one.certificate_management_status.provisioning_job.error_code !== null,
      );
      assert.equal(status.provisioning_job.error_code, "WILDCARD_UNSUPPORTED");
      assert.equal(status.provisioning_job.retries_at, null);
    });

    it("certificates of an authority that are not given are forgotten with the policy, and a domain under way can be deleted", async () => {
      const reserved = await server.reserve("gone.nowhere.test");
      await server.until(reserved.id, hasFailed);
      await server.call("DELETE", `/reserved_domains/${reserved.id}/certificate_management_policy`);
      const cleared = await server.call("GET", `/reserved_domains/${reserved.id}`);
      assert.equal(cleared.certificate_management_status, null);
      const again = await server.call("POST", "/reserved_domains", {
        domain: "brief.nowhere.test",
        certificate_management_policy: policy,
      });
      await server.call("DELETE", `/reserved_domains/${again.id}`);
    });
  });

  describe("an authority with renewal information", () => {
    let server: AcmeServer;
    let pebble: Pebble;
    let front: RenewalFront;

    before(async () => {
      const plan = await planPebble();
      front = await startRenewalFront(plan);
      server = await startAcmeServer({ ...settingsFor(plan), acmeDirectory: front.directoryUrl, acmeCa: front.ca });
      pebble = await plan.start({ http: server.edge.http?.port ?? 0, https: server.edge.https.port });
    });
    after(async () => {
      await server.stop();
      await front.stop();
      await pebble.stop();
    });

    it("certificates from an authority with renewal information are renewed within its window, even if it moves, and name the replaced certificate", async () => {
      front.window = { start: Date.now() + 40 * dayMs, end: Date.now() + 42 * dayMs };
      const reserved = await server.reserve("ari.example.test");
      const renewsWithin = (one: Body): boolean => {
        const at = Date.parse(one.certificate_management_status.renews_at ?? "");
        return hasCertificate(one) && at >= front.window.start - 1000 && at <= front.window.end;
      };
      const first = await server.until(reserved.id, renewsWithin);
      front.window = { start: Date.now() + 2 * dayMs, end: Date.now() + 3 * dayMs };
      server.clock.advance(dayMs);
      const moved = await server.until(reserved.id, renewsWithin);
      assert.equal(moved.certificate.id, first.certificate.id);
      const id = front.asked.at(-1);
      server.clock.advance(2 * dayMs);
      await server.until(reserved.id, (one) => hasCertificate(one) && one.certificate.id !== first.certificate.id);
      assert.deepEqual(front.replaced, [id]);
    });
  });

  it("certificates come from the next authority if the first does not answer, and are renewed", async () => {
    const [gone, plan] = [await planPebble(), await planPebble()];
    const settings = { ...settingsFor(plan), acmeDirectory: gone.directoryUrl };
    const server = await startAcmeServer({ ...settings, acmeFallbackDirectory: [plan.directoryUrl] });
    const ports = { http: server.edge.http?.port ?? 0, https: server.edge.https.port };
    const pebble = await plan.start(ports);
    try {
      const { id } = await server.reserve("fallback.example.test");
      const first = await server.until(id, hasCertificate);
      await shownTo("fallback.example.test", server.edge.https.port, await pebble.issuingRoot());
      server.clock.advance(Date.parse(first.certificate_management_status.renews_at) - server.clock.now() + 1000);
      await server.until(id, (one) => hasCertificate(one) && one.certificate.id !== first.certificate.id);
    } finally {
      await server.stop();
      await gone.cancel();
      await pebble.stop();
    }
  });

  it("certificates from an authority that requires an external account are issued with it, and the domain says if it is missing or wrong", async () => {
    const secret = Buffer.alloc(32, 5).toString("base64url");
    const cases = [
      [undefined, /requires an external account: .*--acme-eab-key/],
      [Buffer.alloc(32, 6).toString("base64url"), /./],
      [secret, undefined],
    ] as const;
    for (const [acmeEabSecret, reason] of cases) {
      const plan = await planPebble();
      const acmeEabKey = acmeEabSecret === undefined ? undefined : "kid-1";
      const server = await startAcmeServer({ ...settingsFor(plan), acmeEabKey, acmeEabSecret });
      const ports = { http: server.edge.http?.port ?? 0, https: server.edge.https.port };
      const pebble = await plan.start(ports, undefined, { keyId: "kid-1", secret });
      try {
        const { id } = await server.reserve("external.example.test");
        const domain = await server.until(id, (one) => hasCertificate(one) || hasFailed(one));
        if (reason === undefined) assert.ok(hasCertificate(domain));
        else assert.match(domain.certificate_management_status.provisioning_job.msg, reason);
        assert.equal(hasCertificate(domain), reason === undefined);
      } finally {
        await server.stop();
        await pebble.stop();
      }
    }
  });

  it("certificates from an authority are obtained with command line settings, with the first challenge type that works", async () => {
    const plan = await planPebble();
    const receiver = await startReceiver("http");
    const platform = await startPlatform({
      ...settingsFor(plan),
      httpListen: { host: "127.0.0.1", port: 0 },
      allowLocalUpstreams: true,
    });
    const pebble = await plan.start({ http: platform.httpPort ?? 0, https: platform.httpsPort });
    try {
      const ok: TestApi["ok"] = async (method, path, body) => {
        const answer = await platform.api(method, path, body);
        assert.ok(answer.status < 300, answer.text);
        return answer.body;
      };
      await subscribe({ ok }, { webhook: { url: receiver.url } }, ["tls_certificate_created.v0"]);
      const domain = "threads.example.test";
      const { id } = await ok("POST", "/reserved_domains", { domain, certificate_management_policy: policy });
      await ok("POST", "/edges/https", { hostports: [`${domain}:443`] });
      await receiver.count(1);
      assert.ok(hasCertificate(await ok("GET", `/reserved_domains/${id}`)));
      await shownTo("threads.example.test", platform.httpsPort, await pebble.issuingRoot());
    } finally {
      await platform.stop();
      await pebble.stop();
      await receiver.stop();
    }
  });
});

describe("the login host", { skip: skipWithout("pebble") }, () => {
  it("the login host gets a certificate automatically, which is in no document and belongs to no account", async () => {
    const plan = await planPebble();
    const server = await startAcmeServer(settingsFor(plan), "login.apps.example.org");
    const pebble = await plan.start({ http: server.edge.http?.port ?? 0, https: server.edge.https.port });
    try {
      const [reserved, ...others] = (await server.call("GET", "/reserved_domains")).reserved_domains;
      assert.deepEqual([reserved.domain, others], ["login.apps.example.org", []]);
      // The first attempt was before the authority was there.
      await server.until(reserved.id, (one) => hasFailed(one) || hasCertificate(one));
      server.clock.advance(10 * 60_000);
      await server.until(reserved.id, hasCertificate);
      const shown = await shownTo(reserved.domain, server.edge.https.port, await pebble.issuingRoot());
      assert.equal(shown.subjectAltName, "DNS:login.apps.example.org");
      const document = await server.call("GET", "/export");
      assert.deepEqual(document.objects, {});
      assert.deepEqual((await server.call("POST", "/plan", document)).changes, []);
      await server.restart();
      assert.equal((await server.call("GET", "/reserved_domains")).reserved_domains.length, 1);
      await assert.rejects(server.call("POST", "/edges/https", { hostports: ["login.apps.example.org:443"] }), /409/);
    } finally {
      await server.stop();
      await pebble.stop();
    }
  });
});

describe("without the operator's agreement", () => {
  it("without the operator's agreement no authority is contacted, and the domain reports that", async () => {
    const server = await startAcmeServer({
      ...defaultsOf(acmeSettings),
      acmeDirectory: "https://authority.invalid/directory",
      acmeChallenge: "http-01",
    });
    try {
      const reserved = await server.reserve("quiet.example.test");
      const { certificate_management_status: status } = await server.until(
        reserved.id,
        (one) => one.certificate_management_status.provisioning_job.error_code !== null,
      );
      assert.equal(status.provisioning_job.error_code, "TERMS_NOT_AGREED");
    } finally {
      await server.stop();
    }
  });
});
