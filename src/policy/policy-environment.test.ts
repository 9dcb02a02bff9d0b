/** Every name and function of policies (traffic policy §3, §4), in each phase that has it, with its type. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exchangeOf } from "../../test/support/exchange.ts";
import { compileSource } from "../cel/program.ts";
import { typeText } from "../cel/checking/cel-types.ts";
import { CelFailure } from "../cel/values/cel-failure.ts";
import { actions } from "./actions/index.ts";
import { environmentOf } from "./policy-environment.ts";

const places = {
  tcp: environmentOf("on_tcp_connect", "tcp", actions),
  tls: environmentOf("on_tcp_connect", "tls", actions),
  request: environmentOf("on_http_request", "http", actions),
  response: environmentOf("on_http_response", "http", actions),
  message: environmentOf("on_event_stream_message", "http", actions),
};
type Place = keyof typeof places;
const all: readonly Place[] = ["tcp", "tls", "request", "response", "message"];
const http: readonly Place[] = ["request", "response"];
const answered: readonly Place[] = ["response", "message"];
const withTls: readonly Place[] = ["tls", "request", "response"];

const texts = "list(string)";
const textLists = "map(string, list(string))";
const below = (of: string, names: string): string[] => names.split(" ").map((name) => `${of}.${name}`);
const where = "city continent country country_code metro_code subdivision timezone";
const attributes = "country locality organization organizational_unit postal_code province street_address";
const addresses = ["conn.client_ip", "conn.server_ip"];
const certificates = ["conn.tls.client", "conn.tls.server"];
const names = certificates.flatMap((one) => below(one, "subject issuer"));
const messages: readonly (readonly [of: string, places: readonly Place[]])[] = [
  ["req", http],
  ["res", answered],
];
const cookie = "res.cookies['a'][0]";

type Row = readonly [places: readonly Place[], type: string, ...sources: readonly string[]];

const rows: readonly Row[] = [
  [all, "string", ...addresses, ...addresses.flatMap((one) => below(`${one}.geo.location`, where))],
  [all, "string", ...addresses.flatMap((one) => below(`${one}.geo.location`, "latitude longitude postal_code radius"))],
  [all, "string", ...addresses.flatMap((one) => below(`${one}.geo.registered_location`, where))],
  [all, "string", ...below("conn.geo", "city country country_code subdivision"), "conn.server_region", "time.now"],
  [all, "string", ...addresses.map((one) => `${one}.as.organization`)],
  [all, "int", ...addresses.map((one) => `${one}.as.number`), ...below("conn", "client_port server_port")],
  [all, "bool", ...addresses.flatMap((one) => below(one, "is_on_blocklist is_tor_node geo.location.is_eu"))],
  [all, "bool", ...addresses.map((one) => `${one}.geo.registered_location.is_eu`)],
  [all, texts, ...addresses.map((one) => `${one}.categories`)],
  [all, "double", ...below("conn.geo", "latitude longitude radius"), "rand.double()"],
  [all, "timestamp", "conn.ts.start", "timestamp(time.now)"],
  [all, "string", "conn.k8s.pod.id", ...below("conn.k8s.pod.metadata", "name namespace error_code error_message")],
  [all, "map(string, string)", "conn.k8s.pod.metadata.annotations"],
  [all, "string", ...below("endpoint", "addr host id protocol url")],
  [all, "int", "endpoint.port", "rand.int()", "rand.int(1, 6)"],
  [all, "dyn", "vars.a", "json.decode('{}')", "'[]'.decodeJson()"],
  [http, "int", "conn.bytes_in", "conn.bytes_out", "req.url.port"],
  [withTls, "string", ...below("conn.tls", "cipher_suite ja4_fingerprint negotiated_alpn sni version client.pem")],
  [withTls, "bool", "conn.tls.session_resumed", ...certificates.map((one) => `${one}.extensions[0].critical`)],
  [withTls, "string", ...names, ...names.map((one) => `${one}.common_name`)],
  [withTls, texts, ...names.flatMap((one) => below(one, attributes))],
  [withTls, "string", ...certificates.flatMap((one) => below(one, "san serial_number signature_algorithm"))],
  [
    withTls,
    texts,
    ...certificates.flatMap((one) => below(`${one}.san`, "dns_names email_addresses ip_addresses uris")),
  ],
  [withTls, "timestamp", ...certificates.flatMap((one) => below(`${one}.validity`, "not_before not_after"))],
  [withTls, "string", ...certificates.map((one) => `${one}.extensions[0].id`)],
  [withTls, "bytes", ...certificates.map((one) => `${one}.extensions[0].value`)],
  [http, "string", "req.method", "req.host", "req.version", "req.url", "req.user_agent"],
  [http, "string", ...below("req.url", "authority host path query raw raw_path scheme uri user_password")],
  [http, textLists, "req.url.query_params"],
  [http, "string", ...below("req.user_agent", "name version os os_version device url")],
  [http, "bool", ...below("req.user_agent", "is_mobile is_tablet is_desktop is_bot")],
  [http, "timestamp", "req.ts.header_received", "req.ts.body_received"],
  [answered, "int", "res.status_code"],
  ...messages.flatMap(([of, its]): Row[] => [
    [its, textLists, `${of}.headers`, `${of}.trailers`],
    [its, "map(string, list(cookie))", `${of}.cookies`],
    [its, "string", ...below(of, "location content_type content_type.raw")],
    [its, "map(string, string)", `${of}.content_type.parameters`],
    [its, "int", `${of}.content_length`],
    [its, texts, `${of}.content_encoding`],
  ]),
  [["response"], "string", ...below(cookie, "name value domain path same_site")],
  [["response"], "timestamp", `${cookie}.expires`],
  [["response"], "duration", `${cookie}.max_age`],
  [["response"], "bool", `${cookie}.http_only`, `${cookie}.secure`],
  [["response"], "map(string, string)", `${cookie}.unparsed_attributes`],
  [all, "string", "conn.ClientIP", "conn.Geo.CountryCode"],
  [http, "string", "req.Method"],
  [http, texts, "getReqHeader('a')", "getQueryParam('a')"],
  [http, "cookie", "getReqCookie('a')"],
  [http, "bool", "hasReqHeader('a')", "hasQueryParam('a')", "hasReqCookie('a')"],
  [["response"], texts, "getResHeader('a')"],
  [["response"], "cookie", "getResCookie('a')"],
  [["response"], "bool", "hasResHeader('a')", "hasResCookie('a')"],
  [all, "string", "base64.encode(b'a')", "'a'.encodeBase64()", "'YQ=='.decodeBase64()", "url.escape('a')"],
  [all, "bytes", "base64.decode('YQ==')"],
  [all, "string", "url.unescape('a')", "'a'.escapeUrl()", "'a'.unescapeUrl()", "json.encode([1])", "[1].encodeJson()"],
  [all, "string", "{'a': 1}.encodeJson()", "queryString.encode({'a': 'b'})", "{'a': 'b'}.encodeQueryString()"],
  [all, "string", "basic_auth.encode('a', 'b')", "'a'.lower()", "'a'.upper()", "secrets.get('v', 'n')"],
  [all, "bool", "'[]'.isJson()", "'a=b'.isQueryString()", "'http://a'.isURL()", "'10.0.0.1'.isPrivateIp()"],
  [all, "map(string, string)", "queryString.decode('a=b')", "'a=b'.decodeQueryString()"],
  [all, "map(string, string)", "url.parse('http://a')", "'http://a'.parseUrl()"],
  [all, "bool", "inCidrRange('192.0.2.1', '192.0.2.0/24')", "inCidrRanges('192.0.2.1', ['192.0.2.0/24'])"],
  ...["crc32", "crc64", "md5", "sha1", "sha256", "sha512", "xxhash64"].map((hash): Row => [
    all,
    "string",
    `hash.${hash}('a')`,
    `hash.${hash}('a', 'base64')`,
    `'a'.${hash}()`,
    `'a'.${hash}('hex')`,
  ]),
];

const cookies = Array.from({ length: 300 }, (_, at) => `c${at}=1`).join("; ");
const exchange = exchangeOf({ headers: { host: "Shop.Example.TEST:8443", cookie: cookies } });

const unknown: readonly (readonly [places: readonly Place[], source: string])[] = [
  [["tcp", "tls"], "req.method"],
  [["tcp", "tls", "request"], "res.status_code"],
  [["tcp"], "conn.tls.sni"],
  [["request"], "getResHeader('a')"],
  [all, "math.greatest(1, 2)"],
  [all, "optional.of(1)"],
  [all, "sets.contains([1], [1])"],
  [all, "{'a': 1}.all(k, v, true)"],
];

/** Values from the specification. */
const values: Readonly<Record<string, string | boolean>> = {
  "req.host": "shop.example.test",
  "req.url.authority": "Shop.Example.TEST:8443",
  "req.url.port == 8443": true,
  "size(req.cookies) == 200": true,
  "'hello'.crc64()": "3c3eeee2d8100000",
  "'hello'.xxhash64()": "26c7827d889f6da3",
  "'i;md/r/$y'.escapeUrl()": "i%3Bmd%2Fr%2F%24y",
  "'hello'.charAt(5)": "",
  "'İ'.upper()": "İ",
  "[1, [2, [3, 4]]].flatten() == [1, 2, [3, 4]]": true,
  "'a,b,c'.split(',', 2) == ['a', 'b']": true,
  "'a  b c'.split() == ['a', 'b', 'c']": true,
  "inCidrRange('192.0.2.1', 'nowhere')": false,
};

describe("variables and functions of policies", () => {
  it("variables and functions of policies have the specified types in every phase", () => {
    const wrong = rows.flatMap(([known, type, ...sources]) =>
      known.flatMap((place) =>
        sources.flatMap((source) => {
          const compiled = compileSource(source, places[place]);
          const is = compiled.ok ? typeText(compiled.program.type) : compiled.issues[0]?.message;
          return is === type ? [] : [`${place}: ${source} is ${is}, not ${type}`];
        }),
      ),
    );
    assert.deepEqual(wrong, []);
  });

  it("variables and functions of policies are limited to their phase, and to the language", () => {
    for (const [strange, source] of unknown) {
      for (const place of strange) assert.ok(!compileSource(source, places[place]).ok, `${place}: ${source}`);
    }
  });

  it("variables and functions of policies return the documented values", () => {
    for (const [source, wanted] of Object.entries(values)) {
      const compiled = compileSource(source, places.request);
      assert.ok(compiled.ok, source);
      const value = compiled.program.evaluate({ exchange });
      assert.equal(value instanceof CelFailure ? value.message : value, wanted, source);
    }
  });
});
