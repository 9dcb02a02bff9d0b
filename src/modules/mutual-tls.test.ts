import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { describe, it } from "node:test";
import { exchangeOf, runRequest } from "../../test/support/exchange.ts";
import { httpsSite, tableOf } from "../../test/support/routing.ts";
import { isFieldValue } from "../lib/http-token.ts";
import { createAuthority, issueLeaf } from "../lib/certificates/x509.ts";
import { fieldText } from "../traffic/tls-certificates.ts";

const now = Date.UTC(2026, 0, 2);
const authority = await createAuthority({ commonName: "Clients", now });

function setUp(ca_pem: string) {
  const set = tableOf();
  set.put({ kind: "certificate_authority", id: "ca_1", doc: { ca_pem } });
  const mutual_tls = { enabled: true, certificate_authority_ids: ["ca_1"] };
  set.put({ kind: "https_edge", id: "e", doc: { hostports: ["h:443"], mutual_tls } });
  const doc = { edge_id: "e", match_type: "path_prefix", match: "/" };
  set.put({ kind: "https_edge_route", id: "r", doc });
  return httpsSite(set.table, "h");
}

describe("mutual TLS", () => {
  it("K2: mutual TLS requests certificates of the configured CAs, including several in one upload", async () => {
    const other = await createAuthority({ commonName: "Others", now });
    const site = setUp(`${authority.certificatePem}\n${other.certificatePem}`);
    assert.equal(site?.problem, undefined);
    assert.equal(site?.handshake.clientAuthorities?.match(/BEGIN CERTIFICATE/g)?.length, 2);
  });

  it("R6: mutual TLS closes the edge if a CA is missing or unreadable", async () => {
    const leaf = await issueLeaf(authority, { names: ["a.example"], now, days: 1 });
    assert.match(
      setUp(leaf.certificatePem)?.problem?.message ?? "",
      /hold certificate authorities, and "CN=a.example" is not one/,
    );
    assert.match(setUp("nothing")?.problem?.message ?? "", /must hold a certificate in PEM/);
  });

  it("mutual TLS sends the certificate's subject to the upstream and replaces the client's claims", async () => {
    const leaf = await issueLeaf(authority, {
      names: ["a.example", "b.example"],
      now,
      days: 1,
      usages: ["clientAuth"],
    });
    const clientCertificate = new X509Certificate(leaf.certificatePem).raw;
    const tls = { serverName: "h", version: "TLSv1.3", cipher: "x", clientCertificate };
    const exchange = exchangeOf({ connection: { tls }, headers: { "ngrok-mtls-subject-cn": "admin" } });
    const route = setUp(authority.certificatePem)?.findRoute("/", "h");
    assert.ok(route);
    assert.equal((await runRequest(route, exchange)).outcome, "changed");
    const { headers } = exchange.request;
    assert.deepEqual(headers.getAll("ngrok-mtls-subject-cn"), ["a.example"]);
    assert.equal(headers.get("ngrok-mtls-subject-alt-name-dns"), "a.example,b.example");
    assert.equal(headers.get("ngrok-mtls-email-addresses"), "");
    assert.match(headers.get("ngrok-mtls-serial-number") ?? "", /^[0-9a-f]+$/);
  });

  it("P4: mutual TLS encodes any certificate into valid and distinct header fields", async () => {
    for (const [commonName, expected] of [
      ["admin ", "admin%20"],
      ["  admin", "%20%20admin"],
      [" ", "%20"],
      ["a\tb\r\nc", "a%09b%0D%0Ac"],
      ["ä ", "%C3%A4%20"],
    ] as const) {
      const leaf = await issueLeaf(authority, {
        names: ["a.example"],
        commonName,
        now,
        days: 1,
        usages: ["clientAuth"],
      });
      const clientCertificate = new X509Certificate(leaf.certificatePem).raw;
      const tls = { serverName: "h", version: "TLSv1.3", cipher: "x", clientCertificate };
      const exchange = exchangeOf({ connection: { tls } });
      const route = setUp(authority.certificatePem)?.findRoute("/", "h");
      assert.ok(route);
      await runRequest(route, exchange);
      const { headers } = exchange.request;
      assert.equal(headers.get("ngrok-mtls-subject-cn"), expected);
      const told = [...headers.entries()].filter(([name]) => name.startsWith("ngrok-mtls-"));
      assert.equal(told.length, 4);
      for (const [name, value] of told) assert.ok(isFieldValue(value), name);
    }
  });

  it("R2: mutual TLS rejects a request on a connection without a client certificate", async () => {
    const route = setUp(authority.certificatePem)?.findRoute("/", "h");
    assert.ok(route);
    const step = await runRequest(route, exchangeOf());
    assert.deepEqual(step.answer, { error: "misdirected" });
  });

  it("K2: subject fields cannot break out of their header field", () => {
    assert.equal(fieldText("Jö\r\nX: 100%,\0"), "J%C3%B6%0D%0AX: 100%25,%00");
    assert.equal(fieldText("a,b", ","), "a%2Cb");
    assert.equal(fieldText("plain text"), "plain text");
  });
});
