import { clientCertificate } from "./client-certificate.ts";
import type { ClientCertificate } from "./client-certificate.ts";
import type { Exchange, HeaderFields } from "./exchange.ts";
import type { Step } from "./step.ts";

/** Reads one variable; "" when there is nothing to read. */
export type Variable = (exchange: Exchange) => string;

/**
 * The variable called `name` (completing-the-api.md §3.4). Unknown ones are empty, and so are those that nobody
 * here can know: geography, the server's certificate, what happens after the value is needed.
 */
export function variable(name: string): Variable {
  const exact = variables[name];
  if (exact) return exact;
  const member = /^(.+?)(?:\.([\w-]+)|\[(?:'([^']+)'|"([^"]+)")\])(?:\[0\])?$/.exec(name);
  const collection = member && collections[member[1] as string];
  const key = member?.[2] ?? member?.[3] ?? member?.[4];
  return collection && key !== undefined ? collection(key) : empty;
}

const empty: Variable = () => "";

const variables: Readonly<Record<string, Variable>> = Object.assign(Object.create(null) as Record<string, Variable>, {
  "conn.client_ip": ({ connection }) => connection.source,
  "conn.client_port": ({ connection }) => String(connection.sourcePort),
  "conn.server_ip": ({ connection }) => connection.localAddress,
  "conn.server_port": ({ connection }) => String(connection.localPort),
  "conn.start_ts": ({ connection }) => new Date(connection.startedAt).toISOString(),
  "conn.tls.cipher_suite": ({ connection }) => connection.tls?.cipher ?? "",
  "conn.tls.sni": ({ connection }) => connection.tls?.serverName ?? "",
  "conn.tls.version": ({ connection }) => connection.tls?.version ?? "",
  "conn.tls.client.serial_number": client(({ serialNumber }) => serialNumber),
  "conn.tls.client.validity.not_before": client(({ notBefore }) => notBefore),
  "conn.tls.client.validity.not_after": client(({ notAfter }) => notAfter),
  "conn.tls.client.san.dns_names": client(({ dnsNames }) => dnsNames.join(",")),
  "conn.tls.client.san.email_addresses": client(({ emailAddresses }) => emailAddresses.join(",")),
  "conn.tls.client.san.ip_addresses": client(({ ipAddresses }) => ipAddresses.join(",")),
  "conn.tls.client.san.uris": client(({ uris }) => uris.join(",")),
  "conn.tls.client.subject": client(({ subject }) => distinguishedName(subject)),
  "conn.tls.client.issuer": client(({ issuer }) => distinguishedName(issuer)),
  ...names("subject"),
  ...names("issuer"),
  "req.method": ({ request }) => request.method,
  "req.host": ({ request }) => request.host,
  "req.version": ({ request }) => `HTTP/${request.httpVersion}`,
  "req.url": (exchange) => `${exchange.request.scheme}://${authority(exchange)}${exchange.request.target}`,
  "req.url.authority": authority,
  "req.url.host": ({ request }) => request.host,
  "req.url.path": ({ request }) => request.path,
  "req.url.raw_path": ({ request }) => request.target.split("?", 1)[0] ?? "",
  "req.url.query": ({ request }) => request.query.slice(1),
  "req.url.query_params": ({ request }) => JSON.stringify(listed(new URLSearchParams(request.query))),
  "req.url.scheme": ({ request }) => request.scheme,
  "req.url.uri": ({ request }) => request.target,
  "req.headers": ({ request }) => JSON.stringify(listed(request.headers.entries())),
  "req.cookies": ({ request }) => request.headers.getAll("cookie").join("; "),
  "req.content_length": ({ request }) => request.headers.get("content-length") ?? "",
  "req.content_type": ({ request }) => mediaType(request.headers),
  "req.content_type.parameters": ({ request }) => mediaParameters(request.headers),
  "req.content_type.raw": ({ request }) => request.headers.get("content-type") ?? "",
  "req.user_agent": ({ request }) => request.headers.get("user-agent") ?? "",
  "req.location": ({ request }) => request.headers.get("location") ?? "",
  "res.status_code": ({ response }) => (response ? String(response.status) : ""),
  "res.headers": ({ response }) => (response ? JSON.stringify(listed(response.headers.entries())) : ""),
  "res.cookies": ({ response }) => response?.headers.getAll("set-cookie").join("; ") ?? "",
  "res.content_length": ({ response }) => response?.headers.get("content-length") ?? "",
  "res.content_type": ({ response }) => (response ? mediaType(response.headers) : ""),
  "res.content_type.parameters": ({ response }) => (response ? mediaParameters(response.headers) : ""),
  "res.content_type.raw": ({ response }) => response?.headers.get("content-type") ?? "",
  "res.location": ({ response }) => response?.headers.get("location") ?? "",
  ".ngrok.client_ip": ({ connection }) => connection.source,
  ".ngrok.request_id": ({ id }) => id,
  ".ip_policy.decision": (exchange) => decision(stepBy(exchange, "ip_restriction")),
  ".ip_policy.matching_rule": (exchange) => stepBy(exchange, "ip_restriction")?.decidedBy?.id ?? "",
  ".webhook_validation.decision": (exchange) => decision(stepBy(exchange, "webhook_verification")),
  ".circuit_breaker.decision": (exchange) => {
    const step = stepBy(exchange, "circuit_breaker");
    return step?.outcome === "passed" && step.reason !== "closed" ? "allow_while_open" : decision(step);
  },
  ".compression.algorithm": (exchange) =>
    stepBy(exchange, "compression")?.outcome === "changed"
      ? (exchange.response?.headers.get("content-encoding") ?? "")
      : "",
  ".backend.connection_reused": ({ connectionReused }) => String(connectionReused ?? ""),
  ".backend.id": (exchange) => stepBy(exchange, "backend")?.decidedBy?.id ?? "",
} satisfies Record<string, Variable>);

/** Variables with names of their own below them. */
const collections: Readonly<Record<string, (key: string) => Variable>> = Object.assign(
  Object.create(null) as Record<string, (key: string) => Variable>,
  {
    "req.headers":
      (key: string): Variable =>
      ({ request }) =>
        request.headers.getAll(key).join(", "),
    "res.headers":
      (key: string): Variable =>
      ({ response }) =>
        response?.headers.getAll(key).join(", ") ?? "",
    "req.cookies":
      (key: string): Variable =>
      ({ request }) =>
        cookie(request.headers, key),
    "req.url.query_params":
      (key: string): Variable =>
      ({ request }) =>
        new URLSearchParams(request.query).get(key) ?? "",
  },
);

function client(read: (certificate: ClientCertificate) => string): Variable {
  return ({ connection }) => {
    const certificate = clientCertificate(connection.tls);
    return certificate ? read(certificate) : "";
  };
}

function names(of: "subject" | "issuer"): Record<string, Variable> {
  const attributes = {
    common_name: "CN",
    country: "C",
    locality: "L",
    organization: "O",
    organizational_unit: "OU",
    postal_code: "postalCode",
    province: "ST",
    street_address: "street",
  };
  return Object.fromEntries(
    Object.entries(attributes).map(([name, attribute]) => [
      `conn.tls.client.${of}.${name}`,
      client((certificate) => certificate[of][attribute] ?? ""),
    ]),
  );
}

function distinguishedName(attributes: Readonly<Record<string, string>>): string {
  return Object.entries(attributes)
    .map(([name, value]) => `${name}=${value.replace(/[\\,+"<>;=]/g, "\\$&")}`)
    .join(",");
}

function authority({ request }: Exchange): string {
  return request.headers.get("host") ?? request.host;
}

function stepBy({ steps }: Exchange, by: string): Step | undefined {
  // The account's restriction comes before the route's own and says the same of itself.
  return steps.findLast((step) => step.by === by);
}

function decision(step: Step | undefined): string {
  if (!step || step.outcome === "skipped") return "";
  return step.outcome === "denied" ? "block" : "allow";
}

function listed(entries: Iterable<readonly [string, string]>): Record<string, string[]> {
  const lists = new Map<string, string[]>();
  for (const [name, value] of entries) {
    const list = lists.get(name);
    if (list) list.push(value);
    else lists.set(name, [value]);
  }
  return Object.fromEntries(lists);
}

function mediaType(headers: HeaderFields): string {
  return (headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

function mediaParameters(headers: HeaderFields): string {
  const raw = headers.get("content-type") ?? "";
  const at = raw.indexOf(";");
  return at < 0 ? "" : raw.slice(at + 1).trim();
}

function cookie(headers: HeaderFields, name: string): string {
  for (const line of headers.getAll("cookie")) {
    for (const pair of line.split(";")) {
      const equals = pair.indexOf("=");
      if (equals >= 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
    }
  }
  return "";
}
