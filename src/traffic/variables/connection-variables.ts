import type { Location } from "../../geo/location.ts";
import type { ConnectionFacts, TlsFacts } from "../exchange.ts";
import { clientCertificate, serverCertificate } from "../tls-certificates.ts";
import type { TlsCertificate } from "../tls-certificates.ts";
import { locationOf } from "../visitor-location.ts";
import { empty } from "./variable.ts";
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
  "conn.bytes_in": of("bytes from the client so far, TLS included", ({ traffic }) => text(traffic?.bytesRead)),
  "conn.bytes_out": of("bytes to the client so far, TLS included", ({ traffic }) => text(traffic?.bytesWritten)),
  "conn.client_ip": of("address of the client", ({ source }) => source),
  "conn.client_port": of("port of the client, 0 if a trusted proxy forwards the connection", ({ sourcePort }) =>
    String(sourcePort),
  ),
  "conn.server_ip": of("address that the client reached", ({ local }) => local.localAddress ?? ""),
  "conn.server_port": of("port that the client reached", ({ localPort }) => String(localPort)),
  "conn.start_ts": of("time when the connection was accepted, RFC 3339", ({ startedAt }) =>
    new Date(startedAt).toISOString(),
  ),
  "conn.end_ts": empty("the connection is still open"),
  "conn.geo.city": place("city", ({ city }) => city),
  "conn.geo.country": place("country, in English", ({ country }) => country),
  "conn.geo.country_code": place("country, ISO 3166-1 alpha-2", ({ countryCode }) => countryCode),
  "conn.geo.latitude": place("latitude, degrees", ({ latitude }) => text(latitude)),
  "conn.geo.longitude": place("longitude, degrees", ({ longitude }) => text(longitude)),
  "conn.geo.radius": place("radius around the coordinates, kilometers", ({ radius }) => text(radius)),
  "conn.geo.subdivision": place("state or region", ({ subdivision }) => subdivision),
  "conn.tls.cipher_suite": of("cipher suite", ({ tls }) => tls?.cipher ?? ""),
  "conn.tls.sni": of("server name that the client asked for", ({ tls }) => tls?.serverName ?? ""),
  "conn.tls.version": of("protocol version, such as `TLSv1.3`", ({ tls }) => tls?.version ?? ""),
  ...certificateVariables("client", "the client's verified certificate", clientCertificate),
  ...certificateVariables("server", "the certificate that the client was shown", serverCertificate),
};

function of(doc: string, read: (connection: ConnectionFacts) => string): VariableDeclaration {
  return { doc, read: ({ connection }) => read(connection) };
}

/** The parts of a location that need a database of the operator are empty without it. */
function place(what: string, read: (location: Location) => string): VariableDeclaration {
  return of(`${what} of the client's address, empty if unknown`, (connection) => read(locationOf(connection)));
}

function text(value: number | undefined): string {
  return value === undefined ? "" : String(value);
}

function certificateVariables(
  whose: "client" | "server",
  what: string,
  certificateOf: (tls: TlsFacts | undefined) => TlsCertificate | undefined,
): Variables {
  const variables: Record<string, VariableDeclaration> = {};
  const add = (name: string, doc: string, read: (certificate: TlsCertificate) => string): void => {
    variables[`conn.tls.${whose}.${name}`] = of(`${doc} of ${what}`, ({ tls }) => {
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
  variables[`conn.tls.${whose}.extensions`] = empty("extensions are not written out");
  return variables;
}

function distinguishedName(names: Readonly<Record<string, string>>): string {
  return Object.entries(names)
    .map(([name, value]) => `${name}=${value.replace(/[\\,+"<>;=]/g, "\\$&")}`)
    .join(",");
}
