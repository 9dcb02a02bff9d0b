import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { createServer } from "../../src/lib/http.ts";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import type { KeyedCertificate } from "../../src/lib/certificates/x509.ts";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";

let fixture: EdgeWithAgent;
before(async () => (fixture = await startEdgeWithAgent({ allowLocalUpstreams: true })));
after(() => fixture.stop());

const edit = (add: Readonly<Record<string, string>>, remove: readonly string[] = []) => ({
  enabled: true,
  add,
  remove,
});

/** Values of a header field as the service got them, in order. */
function arrived(name: string): string[] {
  const raw = fixture.received.at(-1)?.rawHeaders ?? [];
  return raw.filter((_, index) => index % 2 === 1 && raw[index - 1]?.toLowerCase() === name);
}

for (const protocol of protocols) {
  describe(`header modules over ${protocol}`, () => {
    it(`header modules over ${protocol} remove every value of a name, then add`, async () => {
      fixture.route({ request_headers: edit({ "x-kind": "new", "x-more": "2" }, ["x-kind", "x-gone"]) });
      await fixture.ask(protocol, { headers: { "X-Kind": ["a", "b"], "x-gone": "1", "x-more": "1" } });
      assert.deepEqual(arrived("x-kind"), ["new"]);
      assert.deepEqual(arrived("x-gone"), []);
      assert.deepEqual(arrived("x-more"), ["1", "2"]);
    });

    it(`header modules over ${protocol} insert values that the edge knows, and empty text for others`, async () => {
      fixture.route({
        request_headers: edit({
          "x-a": "${conn.client_ip}|${req.method}|${req.url.path}|${req.url.query}|${req.headers['x-in']}",
          "x-b": "[${no.such.variable}][${conn.geo.city}]",
          "x-c": "${conn.tls.version} ${conn.tls.sni} ${req.version}",
          "x-d": "${.ngrok.request_id}",
        }),
        response_headers: edit({ "x-e": "${res.status_code} ${.backend.id} ${res.headers['x-out']}" }),
      });
      fixture.answer((_request, response) => response.writeHead(201, { "x-out": "o" }).end());
      const answer = await fixture.ask(protocol, { path: "/p/%7Eq?x=1", headers: { "x-in": "i" } });
      assert.deepEqual(arrived("x-a"), ["127.0.0.1|GET|/p/~q|x=1|i"]);
      assert.deepEqual(arrived("x-b"), ["[][]"]);
      assert.deepEqual(arrived("x-c"), [`TLSv1.3 ${host} HTTP/${protocol === "h1" ? "1.1" : "2"}`]);
      assert.deepEqual(arrived("x-d"), [answer.id]);
      assert.equal(answer.headers["x-e"], "201 bkdtg_1 o");
      fixture.answer(undefined);
    });

    it(`header modules over ${protocol} report whether the upstream's connection was new`, async () => {
      const add = { "x-reused": "${.backend.connection_reused}" };
      fixture.route({ request_headers: edit(add), response_headers: edit(add) });
      const release = Promise.withResolvers<void>();
      const both = Promise.withResolvers<void>();
      let held = 0;
      fixture.answer((_request, response) => {
        held += 1;
        if (held === 2) both.resolve();
        void release.promise.then(() => response.end());
      });
      // Two parallel requests need two connections, whatever existed before.
      const asked = [fixture.ask(protocol), fixture.ask(protocol)];
      await both.promise;
      release.resolve();
      await Promise.all(asked);
      fixture.answer(undefined);
      assert.equal((await fixture.ask(protocol)).headers["x-reused"], "true");
      assert.deepEqual(arrived("x-reused"), [""]);
    });

    it(`header modules over ${protocol} report the connection's bytes so far, and the certificate that it presented`, async () => {
      const names =
        "conn.bytes_in conn.bytes_out conn.tls.server.subject.common_name conn.tls.server.issuer.common_name";
      const more = "conn.tls.server.serial_number conn.tls.server.san.dns_names conn.tls.server.validity.not_after";
      const all = `${names} ${more} conn.tls.server.signature_algorithm conn.tls.client.serial_number`.split(" ");
      const add = Object.fromEntries(all.map((name, index) => [`x-${index}`, `\${${name}}`]));
      fixture.route({ request_headers: edit(add), response_headers: edit(add) });
      const socket = await fixture.connect(protocol);
      const shown = socket.getPeerX509Certificate();
      socket.destroy();
      const { headers } = await fixture.ask(protocol, { headers: { "x-long": "x".repeat(5000) } });
      const before = all.map((_, index) => arrived(`x-${index}`)[0] ?? "");
      const after = all.map((_, index) => String(headers[`x-${index}`] ?? ""));
      const [bytesIn, bytesOut, subject, issuer, serial, hosts, until, algorithm, client] = before;
      assert.ok(Number(bytesIn) > (protocol === "h1" ? 5000 : 3000));
      assert.ok(Number(bytesOut) > 500);
      assert.ok(Number(after[0]) >= Number(bytesIn) && Number(after[1]) >= Number(bytesOut));
      assert.deepEqual([hosts, client], [host, ""]);
      assert.equal(serial, shown?.serialNumber.toLowerCase());
      assert.equal(until, shown?.validToDate.toISOString());
      assert.equal(algorithm, shown?.signatureAlgorithm);
      const named = shown?.toLegacyObject();
      assert.deepEqual([subject, issuer], [named?.subject.CN ?? "", named?.issuer.CN ?? ""]);
      assert.deepEqual(after.slice(2), before.slice(2));
    });

    it(`header modules over ${protocol} report how long the upstream's connection took to open, and 0 for a reused one`, async () => {
      const heads: (string | undefined)[] = [];
      const direct = createServer(({ headers }, response) => {
        heads.push(headers["x-dial"] as string | undefined);
        response.end();
      }).listen(0, "127.0.0.1");
      await once(direct, "listening");
      const address = `127.0.0.1:${(direct.address() as AddressInfo).port}`;
      fixture.put("static_backend", "bkdsc_direct", { address, tls: { enabled: false } });
      const modules = edit({ "x-dial": "${.backend.dial_duration}" });
      const backend = { enabled: true, backend_id: "bkdsc_direct" };
      fixture.route({ backend, request_headers: modules, response_headers: modules });
      const began = fixture.clock.monotonic();
      const first = Number((await fixture.ask(protocol)).headers["x-dial"]);
      // A part of the time of the whole request, in the same unit.
      assert.ok(first > 0 && first < fixture.clock.monotonic() - began);
      assert.equal((await fixture.ask(protocol)).headers["x-dial"], "0");
      assert.deepEqual(heads, ["", ""]);
      direct.closeAllConnections();
      direct.close();
    });

    it(`P4: header modules over ${protocol} prevent variables from breaking the message`, async () => {
      fixture.route({
        request_headers: edit({ "x-echo": "${req.url.query_params['q']}", "x-path": "${req.url.path}" }),
        response_headers: edit({ "x-back": "${req.url.query_params['q']}" }),
      });
      const path = "/%C3%A9?q=a%0d%0aSet-Cookie:%20evil=1%00%ff";
      const answer = await fixture.ask(protocol, { path });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers["set-cookie"], undefined);
      assert.equal(arrived("set-cookie").length, 0);
      for (const value of [String(answer.headers["x-back"]), ...arrived("x-echo"), ...arrived("x-path")]) {
        assert.match(value, /^[\x20-\x7e]+$/);
      }
    });

    it(`P4: header modules over ${protocol} cannot remove or add framing fields: such a route is closed`, async () => {
      for (const name of ["transfer-encoding", "content-length", "connection", "upgrade", "te", "trailer"]) {
        for (const module of ["request_headers", "response_headers"]) {
          for (const edited of [edit({}, [name]), edit({ [name]: "chunked" }), edit({ "x-a": "b\r\nc: d" })]) {
            fixture.route({ [module]: edited });
            assert.equal((await fixture.ask(protocol)).status, 500, `${module} ${name}`);
          }
        }
      }
    });

    it(`header modules over ${protocol} rewrite Host for the service, and leave X-Forwarded-Host as it was`, async () => {
      fixture.route({ request_headers: edit({ host: "inner.test" }) });
      await fixture.ask(protocol);
      assert.deepEqual(arrived("host"), ["inner.test"]);
      assert.deepEqual(arrived("x-forwarded-host"), [host]);
    });

    it(`R3, W5: neither header modules over ${protocol} nor clients can remove the edge's own fields`, async () => {
      fixture.route({ request_headers: edit({}, ["x-forwarded-for", "x-request-id"]) });
      const lies = {
        "x-forwarded-for": "9.9.9.9",
        "x-forwarded-proto": "http",
        "x-real-ip": "9.9.9.9",
        forwarded: "for=9.9.9.9",
        "x-original-url": "/admin",
        proxy: "evil",
        "ngrok-auth-user-id": "root",
        ngrok_auth_user_id: "root",
        "Ngrok-Mtls-Subject-Cn": "root",
        "postern-anything": "1",
      };
      const nominated: Record<string, string> =
        protocol === "h1" ? { connection: "x-forwarded-for, x-request-id" } : {};
      const answer = await fixture.ask(protocol, { headers: { ...lies, ...nominated } });
      assert.deepEqual(arrived("x-forwarded-for"), ["127.0.0.1"]);
      assert.deepEqual(arrived("x-forwarded-proto"), ["https"]);
      assert.deepEqual(arrived("x-request-id"), [answer.id]);
      const names = Object.keys(fixture.received.at(-1)?.headers ?? {}).join(" ");
      assert.doesNotMatch(names, /ngrok|postern|real-ip|original-url|\bforwarded\b(?!-)|proxy/);
    });

    it(`W2: header modules over ${protocol} drop names with an underscore that imitate the edge's fields`, async () => {
      fixture.route({});
      const headers = { x_forwarded_for: "9.9.9.9", "x.forwarded.for": "9.9.9.9", "x-fine": "1" };
      await fixture.ask(protocol, { headers });
      assert.deepEqual(arrived("x_forwarded_for"), []);
      assert.deepEqual(arrived("x.forwarded.for"), []);
      assert.deepEqual(arrived("x-fine"), ["1"]);
    });

    it(`header modules over ${protocol} leave the response's framing to the edge, and act on errors of the service too`, async () => {
      fixture.route({ response_headers: edit({ "x-added": "1", server: "mine" }, ["x-powered-by", "server"]) });
      fixture.answer((_request, response) =>
        response.writeHead(500, { "x-powered-by": "secrets", server: "theirs" }).end("broken"),
      );
      const answer = await fixture.ask(protocol);
      assert.equal(answer.status, 500);
      assert.equal(answer.body.toString(), "broken");
      assert.deepEqual(
        [answer.headers["x-added"], answer.headers["x-powered-by"], answer.headers["server"]],
        ["1", undefined, "mine"],
      );
      fixture.answer(undefined);
    });
  });

  describe(`mutual TLS over ${protocol}`, () => {
    let authority: KeyedCertificate;
    let client: KeyedCertificate;
    before(async () => {
      authority = await createAuthority({ commonName: "Clients", now: Date.now() });
      const names = ["client.example.com", "10.0.0.1"];
      client = await issueLeaf(authority, {
        names,
        commonName: "Zoë",
        usages: ["clientAuth"],
        now: Date.now(),
        days: 1,
      });
      fixture.route({});
      fixture.put("certificate_authority", "ca_1", { ca_pem: authority.certificatePem });
      fixture.put("https_edge", "edghts_1", {
        hostports: [`${host}:443`],
        mutual_tls: { enabled: true, certificate_authority_ids: ["ca_1"] },
        tls_termination: null,
      });
    });
    after(() => fixture.put("https_edge", "edghts_1", { hostports: [`${host}:443`], mutual_tls: null }));

    it(`K2: mutual TLS over ${protocol} reports the client's identity to the service, and ignores the client's own claims`, async () => {
      const tls = { cert: client.certificatePem, key: client.keyPem };
      const headers = { "ngrok-mtls-subject-cn": "root", ngrok_mtls_subject_cn: "root" };
      assert.equal((await fixture.ask(protocol, { tls, headers })).status, 200);
      assert.deepEqual(arrived("ngrok-mtls-subject-cn"), ["Zo%C3%AB"]);
      assert.deepEqual(arrived("ngrok-mtls-subject-alt-name-dns"), ["client.example.com"]);
      assert.equal(arrived("ngrok-mtls-serial-number").length, 1);
      assert.deepEqual(arrived("ngrok_mtls_subject_cn"), []);
    });

    it(`K2: mutual TLS over ${protocol} refuses clients without a certificate, or with one of another authority or for servers`, async () => {
      const reached = fixture.received.length;
      await assert.rejects(fixture.ask(protocol));
      const other = await createAuthority({ commonName: "Clients", now: Date.now() });
      for (const [issuer, usage] of [
        [other, "clientAuth"],
        [authority, "serverAuth"],
      ] as const) {
        const wrong = await issueLeaf(issuer, { names: ["c.example"], usages: [usage], now: Date.now(), days: 1 });
        await assert.rejects(fixture.ask(protocol, { tls: { cert: wrong.certificatePem, key: wrong.keyPem } }), usage);
      }
      assert.equal(fixture.received.length, reached);
    });
  });
}
