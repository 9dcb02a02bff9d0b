import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exchangeOf } from "../../../test/support/exchange.ts";
import { readerOf, variables } from "./variables.ts";

const names = "common_name country locality organization organizational_unit postal_code province street_address";
const certificate = [
  ...["subject", "issuer"].flatMap((of) => [of, ...names.split(" ").map((name) => `${of}.${name}`)]),
  ..."san san.dns_names san.email_addresses san.ip_addresses san.uris".split(" "),
  ..."serial_number signature_algorithm extensions validity.not_before validity.not_after".split(" "),
];
const content = "content_length content_type content_type.parameters content_type.raw".split(" ");
/** The names of semantics, "Header values", without those that only a login provides. */
const specified = [
  ..."bytes_in bytes_out client_ip server_ip server_port start_ts end_ts".split(" ").map((name) => `conn.${name}`),
  ..."city country country_code latitude longitude radius subdivision".split(" ").map((name) => `conn.geo.${name}`),
  ..."cipher_suite sni version".split(" ").map((name) => `conn.tls.${name}`),
  ...["client", "server"].flatMap((whose) => certificate.map((name) => `conn.tls.${whose}.${name}`)),
  ..."method host version url headers cookies trailers user_agent location".split(" ").map((name) => `req.${name}`),
  ..."authority host path raw_path query query_params scheme uri user".split(" ").map((name) => `req.url.${name}`),
  ..."status_code headers cookies trailers location".split(" ").map((name) => `res.${name}`),
  ...["req", "res"].flatMap((of) => content.map((name) => `${of}.${name}`)),
  ".ngrok.client_ip",
  ".ngrok.request_id",
  ".ngrok.saml.subject",
  ".backend.id",
  ".backend.connection_reused",
  ".backend.dial_duration",
  ".circuit_breaker.decision",
  ".compression.algorithm",
  ".compression.bytes_saved",
  ".ip_policy.decision",
  ".ip_policy.matching_rule",
  ".webhook_validation.decision",
];

describe("variables", () => {
  it("variables include all of the specification", () => {
    assert.deepEqual(
      specified.filter((name) => !Object.hasOwn(variables, name)),
      [],
    );
  });

  it("variables are empty when there is no value, and never fail", () => {
    const bare = exchangeOf();
    const silent = Object.keys(variables).filter((name) => readerOf(name)(bare) === "");
    for (const name of ["conn.end_ts", "conn.bytes_in", "conn.geo.city", "res.trailers", ".backend.dial_duration"]) {
      assert.ok(silent.includes(name), name);
    }
    for (const name of ["", "conn", "conn.tls.server", "__proto__", "req.headers.__proto__", "constructor.name"]) {
      assert.equal(readerOf(name)(bare), "", name);
    }
  });
});
