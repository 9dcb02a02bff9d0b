/** Every variable exists in its phases and with its type, is zero if there is no data, and has its older name. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exchangeOf } from "../../../test/support/exchange.ts";
import { compileSource } from "../../cel/program.ts";
import { typeText } from "../../cel/checking/cel-types.ts";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import { systemClock } from "../../lib/clock.ts";
import { HeaderList } from "../../traffic/header-list.ts";
import { actions } from "../actions/index.ts";
import { environmentOf } from "../policy-environment.ts";
import type { Layer } from "../language/action.ts";
import type { Phase } from "../language/phase.ts";
import { defaultPolicyServices, PolicyContext, ruleSteps } from "../language/policy-context.ts";
import { textOf } from "../language/text-of.ts";

const place = "city,continent,country,country_code,metro_code,subdivision,timezone";
const address = [
  "|string",
  `.geo.location.{${place},latitude,longitude,postal_code,radius}|string`,
  `.geo.registered_location.{${place}}|string`,
  ".geo.location.is_eu .geo.registered_location.is_eu .is_on_blocklist .is_tor_node|bool",
  ".as.number|int",
  ".as.organization|string",
  ".categories|list(string)",
];
const names = "country,locality,organization,organizational_unit,postal_code,province,street_address";
const certificate = [
  `.{subject,issuer} .{subject,issuer}.common_name .serial_number .signature_algorithm .san|string`,
  `.{subject,issuer}.{${names}}|list(string)`,
  ".san.{dns_names,email_addresses,ip_addresses,uris}|list(string)",
  ".validity.{not_before,not_after}|timestamp",
  ".extensions|list(extension)",
];
const content = [
  ".content_type .content_type.raw .location|string",
  ".content_type.parameters|map(string, string)",
  ".content_length|int",
  ".content_encoding|list(string)",
  ".headers .trailers|map(string, list(string))",
  ".cookies|map(string, list(cookie))",
];

/** Declared variables, by the part of an environment that declares them. */
const connection = [
  ...under("conn.{client_ip,server_ip}", address),
  ...under("conn.geo", [".{city,country,country_code,subdivision}|string", ".{latitude,longitude,radius}|double"]),
  "conn.{client_port,server_port,bytes_in,bytes_out} endpoint.port|int",
  "conn.server_region time.now endpoint.{addr,host,id,protocol,url}|string",
  "conn.ts.start|timestamp",
  "conn.k8s.pod.id conn.k8s.pod.metadata.{name,namespace,error_code,error_message}|string",
  "conn.k8s.pod.metadata.annotations|map(string, string)",
];
const tls = [
  "conn.tls.{cipher_suite,ja4_fingerprint,negotiated_alpn,sni,version,client.pem}|string",
  "conn.tls.session_resumed|bool",
  ...under("conn.tls.{client,server}", certificate),
];
const request = [
  "req.{method,host,version}|string",
  "req.url req.url.{authority,host,path,query,raw,raw_path,scheme,uri,user_password}|string",
  "req.url.port|int",
  "req.url.query_params|map(string, list(string))",
  "req.user_agent req.user_agent.{name,version,os,os_version,device,url}|string",
  "req.user_agent.{is_mobile,is_tablet,is_desktop,is_bot}|bool",
  "req.ts.{header_received,body_received}|timestamp",
  ...under("req", content),
];
const response = ["res.status_code|int", ...under("res", content)];

const places: readonly (readonly [phase: Phase, layer: Layer, rows: readonly string[]])[] = [
  ["on_tcp_connect", "tcp", connection],
  ["on_tcp_connect", "tls", [...connection, ...tls]],
  ["on_http_request", "http", [...connection, ...tls, ...request]],
  ["on_http_response", "http", [...connection, ...tls, ...request, ...response]],
  ["on_event_stream_message", "http", [...connection, ...tls, ...request, ...response]],
];

function under(prefix: string, rows: readonly string[]): string[] {
  return rows.map((row) =>
    row.replace(/^[^|]*/, (list) =>
      list
        .split(" ")
        .map((name) => prefix + name)
        .join(" "),
    ),
  );
}

/** Expands `a.{b,c}|int` to `a.b` and `a.c`, each with its type. */
function expanded(rows: readonly string[]): [name: string, type: string][] {
  const all = (name: string): string[] => {
    const [whole, list = ""] = /\{([^}]*)\}/.exec(name) ?? [];
    return whole === undefined ? [name] : list.split(",").flatMap((one) => all(name.replace(whole, one)));
  };
  return rows.flatMap((row) => {
    const [list = "", type = ""] = row.split("|");
    return list.split(" ").flatMap((name) => all(name).map((one): [string, string] => [one, type]));
  });
}

const zeros: Readonly<Record<string, string>> = {
  string: "",
  bool: "false",
  int: "0",
  double: "0",
  timestamp: "1970-01-01T00:00:00Z",
  list: "[]",
  map: "{}",
};

function contextOf(phase: Phase): PolicyContext {
  const exchange = exchangeOf({ host: "" });
  const bare = {
    ...exchange,
    request: { ...exchange.request, method: "", target: "", path: "", scheme: "" as "http" },
  };
  return new PolicyContext(
    {
      accountId: "ac_1",
      ownerId: "r",
      endpoint: { id: "", protocol: "https" },
      clock: systemClock,
      services: defaultPolicyServices,
      keep: (_key, make) => make(),
      ipPolicy: () => assert.fail("no IP policy"),
      authority: () => assert.fail("no authority"),
      login: () => assert.fail("no authority"),
    },
    phase,
    exchange.connection,
    { ...bare, request: { ...bare.request, headers: new HeaderList() } },
    false,
  );
}

/** Variables with a value for a described request without header fields, TLS and response. */
const known =
  /^(?:conn\.(?:client_ip|server_ip|client_port|server_port|ts\.start)|endpoint\.(?:addr|host|port|protocol|url)|time\.now|req\.(?:version|url|url\.(?:raw|port)|ts\.(?:header|body)_received))$/;

describe("variables of policies", () => {
  for (const [phase, layer, rows] of places) {
    it(`variables of ${phase} on ${layer} match the specification, with their types`, () => {
      const { variables } = environmentOf(phase, layer, actions);
      const declared = Array.from(variables.values())
        .filter(({ read, name }) => read && name !== "vars" && !name.startsWith("actions."))
        .map(({ name, type }) => [name, typeText(type)] as const);
      assert.deepEqual(Object.fromEntries(declared), Object.fromEntries(expanded(rows)));
    });
  }

  it("variables without data are the zeros of their types, and has() is false for them", () => {
    const environment = environmentOf("on_http_response", "http", actions);
    const context = contextOf("on_http_response");
    for (const [name, type] of expanded(places[3]?.[2] ?? []).filter(([name]) => !known.test(name))) {
      const compiled = compileSource(name, environment);
      assert.ok(compiled.ok, name);
      context.steps = ruleSteps;
      const value = compiled.program.evaluate(context);
      assert.ok(!(value instanceof CelFailure), name);
      assert.equal(textOf(value, context), zeros[type.split("(", 1)[0] as string], name);
    }
    const told = compileSource("has(conn.client_ip.geo.location.city)", environment);
    assert.equal(told.ok && told.program.evaluate(context), false);
  });

  const older = (name: string): string =>
    name
      .split(".")
      .map((part, at) => (at === 0 ? part : part.split("_").map(capital).join("")))
      .join(".");

  it("variables have their older capitalised names, which refer to the present ones", () => {
    const environment = environmentOf("on_http_response", "http", actions);
    for (const [name] of expanded(places[3]?.[2] ?? [])) {
      const compiled = compileSource(older(name), environment);
      assert.ok(compiled.ok, older(name));
      assert.deepEqual(compiled.program.variables, [name]);
    }
  });

  for (const source of [
    "conn.ClientIP == ''",
    "req.Method == 'GET'",
    "conn.Geo.CountryCode == ''",
    "conn.TLS.SNI == ''",
  ]) {
    it(`variables may be written as in ${source}`, () => {
      assert.ok(compileSource(source, environmentOf("on_http_request", "http", actions)).ok);
    });
  }

  for (const source of ["conn.clientIp", "conn.Client_IP", "Conn.ClientIP", "req.Metod", "vars.Name.Other.x()"]) {
    it(`variables may not be written as in ${source}`, () => {
      assert.equal(compileSource(source, environmentOf("on_http_request", "http", actions)).ok, false);
    });
  }
});

function capital(word: string): string {
  return /^(?:id|ip|tls|url|uri|uris|sni|san|ts|os|as|eu)$/.test(word)
    ? word.toUpperCase()
    : word.slice(0, 1).toUpperCase() + word.slice(1);
}
