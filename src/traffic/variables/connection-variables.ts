import type { Location } from "../../geo/location.ts";
import type { ConnectionFacts, TlsFacts } from "../connection-facts.ts";
import { clientCertificate, serverCertificate } from "../tls-certificates.ts";
import type { TlsCertificate } from "../tls-certificates.ts";
import { locationOf } from "../visitor-location.ts";
import { declareEmpty } from "./variable.ts";
import type { VariableDeclaration, Variables } from "./variable.ts";

/** Maps variable names of subject attributes to those of RFC 4514. */
export const nameAttributes = {
  common_name: "CN",
  country: "C",
  locality: "L",
  organization: "O",
  organizational_unit: "OU",
  postal_code: "postalCode",
  province: "ST",
  street_address: "street",
};

/** Variables of the connection that carries a request. */
export const connectionVariables: Variables = {
  "conn.bytes_in": connectionVariable("bytes from the client so far, TLS included", ({ traffic }) =>
    renderNumber(traffic?.bytesRead),
  ),
  "conn.bytes_out": connectionVariable("bytes to the client so far, TLS included", ({ traffic }) =>
    renderNumber(traffic?.bytesWritten),
  ),
  "conn.client_ip": connectionVariable("address of the client", ({ source }) => source),
  "conn.client_port": connectionVariable(
    "port of the client, 0 if a trusted proxy forwards the connection",
    ({ sourcePort }) => String(sourcePort),
  ),
  "conn.server_ip": connectionVariable("address that the client reached", ({ local }) => local.localAddress ?? ""),
  "conn.server_port": connectionVariable("port that the client reached", ({ localPort }) => String(localPort)),
  "conn.start_ts": connectionVariable("time when the connection was accepted, RFC 3339", ({ startedAt }) =>
    new Date(startedAt).toISOString(),
  ),
  "conn.end_ts": declareEmpty("the connection is still open"),
  "conn.geo.city": locationVariable("city", ({ city }) => city),
  "conn.geo.country": locationVariable("country, in English", ({ country }) => country),
  "conn.geo.country_code": locationVariable("country, ISO 3166-1 alpha-2", ({ countryCode }) => countryCode),
  "conn.geo.latitude": locationVariable("latitude, degrees", ({ latitude }) => renderNumber(latitude)),
  "conn.geo.longitude": locationVariable("longitude, degrees", ({ longitude }) => renderNumber(longitude)),
  "conn.geo.radius": locationVariable("radius around the coordinates, kilometers", ({ radius }) =>
    renderNumber(radius),
  ),
  "conn.geo.subdivision": locationVariable("state or region", ({ subdivision }) => subdivision),
  "conn.tls.cipher_suite": connectionVariable("cipher suite", ({ tls }) => tls?.cipher ?? ""),
  "conn.tls.sni": connectionVariable("server name that the client asked for", ({ tls }) => tls?.serverName ?? ""),
  "conn.tls.version": connectionVariable("protocol version, such as `TLSv1.3`", ({ tls }) => tls?.version ?? ""),
  ...certificateVariables("client", "the client's verified certificate", clientCertificate),
  ...certificateVariables("server", "the certificate that the client was shown", serverCertificate),
};

function connectionVariable(doc: string, read: (connection: ConnectionFacts) => string): VariableDeclaration {
  return { doc, read: ({ connection }) => read(connection) };
}

/** The parts of a location that need a database of the operator are empty without it. */
function locationVariable(what: string, read: (location: Location) => string): VariableDeclaration {
  return connectionVariable(`${what} of the client's address, empty if unknown`, (connection) =>
    read(locationOf(connection)),
  );
}

function renderNumber(value: number | undefined): string {
  return value === undefined ? "" : String(value);
}

function certificateVariables(
  whose: "client" | "server",
  what: string,
  certificateOf: (tls: TlsFacts | undefined) => TlsCertificate | undefined,
): Variables {
  const variables: Record<string, VariableDeclaration> = {};
  const add = (name: string, doc: string, read: (certificate: TlsCertificate) => string): void => {
    variables[`conn.tls.${whose}.${name}`] = connectionVariable(`${doc} of ${what}`, ({ tls }) => {
      const certificate = certificateOf(tls);
      return certificate ? read(certificate) : "";
    });
  };
  for (const name of ["subject", "issuer"] as const) {
    add(name, `${name}, as in RFC 4514,`, (certificate) => distinguishedName(certificate[name]));
    for (const [attribute, short] of Object.entries(nameAttributes)) {
      add(`${name}.${attribute}`, `${short} of the ${name}`, (certificate) => certificate[name][short] ?? "");
    }
  }
  add("serial_number", "serial number, hexadecimal,", ({ serialNumber }) => serialNumber);
  add("signature_algorithm", "algorithm of the signature", ({ signatureAlgorithm }) => signatureAlgorithm);
  add("validity.not_before", "first moment", ({ notBefore }) => notBefore);
  add("validity.not_after", "last moment", ({ notAfter }) => notAfter);
  add("san", "alternative names, as JSON,", ({ dnsNames, emailAddresses, ipAddresses, uris }) =>
    JSON.stringify({ dns_names: dnsNames, email_addresses: emailAddresses, ip_addresses: ipAddresses, uris }),
  );
  add("san.dns_names", "host names", ({ dnsNames }) => dnsNames.join(","));
  add("san.email_addresses", "e-mail addresses", ({ emailAddresses }) => emailAddresses.join(","));
  add("san.ip_addresses", "IP addresses", ({ ipAddresses }) => ipAddresses.join(","));
  add("san.uris", "URIs", ({ uris }) => uris.join(","));
  variables[`conn.tls.${whose}.extensions`] = declareEmpty("extensions are not written out");
  return variables;
}

function distinguishedName(names: Readonly<Record<string, string>>): string {
  return Object.entries(names)
    .map(([name, value]) => `${name}=${value.replace(/[\\,+"<>;=]/g, "\\$&")}`)
    .join(",");
}
