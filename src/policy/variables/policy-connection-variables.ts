/** Variables of a connection, of its endpoint, and the time. */
import type { VariableDeclaration } from "../../cel/checking/environment.ts";
import { listOf, objectType, types } from "../../cel/checking/cel-types.ts";
import type { Type } from "../../cel/checking/cel-types.ts";
import { toInt, Timestamp } from "../../cel/values/cel-values.ts";
import type { Value } from "../../cel/values/cel-values.ts";
import type { TlsFacts } from "../../traffic/connection-facts.ts";
import { clientCertificate, serverCertificate } from "../../traffic/tls-certificates.ts";
import type { TlsCertificate } from "../../traffic/tls-certificates.ts";
import { nameAttributes } from "../../traffic/variables/connection-variables.ts";
import type { PolicyContext } from "../language/policy-context.ts";
import { clientAddressVariables, serverAddressVariables } from "./address-variables.ts";
import { declareAbsent, declareVariable } from "./declare.ts";
import type { Variables } from "./declare.ts";
import { pemOf } from "./pem.ts";

const { string, bool, bytes, int: intType, timestamp } = types;
const strings = listOf(string);

export function timestampOf(ms: number): Timestamp {
  return new Timestamp(BigInt(Math.floor(ms)) * 1_000_000n);
}

export const connectionVariables: Variables = {
  "conn.client_ip": declareVariable(string, ({ connection }) => connection.source),
  ...clientAddressVariables,
  "conn.server_ip": declareVariable(string, ({ connection }) => connection.local.localAddress ?? ""),
  ...serverAddressVariables,
  "conn.client_port": declareVariable(intType, ({ connection }) => toInt(connection.sourcePort)),
  "conn.server_port": declareVariable(intType, ({ connection }) => toInt(connection.localPort)),
  "conn.server_region": declareAbsent(string),
  "conn.ts.start": declareVariable(timestamp, ({ connection }) => timestampOf(connection.startedAt)),
  "conn.bytes_in": declareVariable(intType, ({ connection }) => toInt(connection.traffic?.bytesRead ?? 0)),
  "conn.bytes_out": declareVariable(intType, ({ connection }) => toInt(connection.traffic?.bytesWritten ?? 0)),
  "conn.k8s.pod.id": declareAbsent(string),
  "conn.k8s.pod.metadata.name": declareAbsent(string),
  "conn.k8s.pod.metadata.namespace": declareAbsent(string),
  "conn.k8s.pod.metadata.annotations": declareAbsent({ is: "map", key: string, of: string }),
  "conn.k8s.pod.metadata.error_code": declareAbsent(string),
  "conn.k8s.pod.metadata.error_message": declareAbsent(string),
  "endpoint.id": declareVariable(string, ({ place: { endpoint } }) => endpoint.id),
  "endpoint.protocol": declareVariable(string, ({ place: { endpoint } }) => endpoint.protocol),
  "endpoint.host": declareVariable(string, hostOf),
  "endpoint.port": declareVariable(intType, ({ connection }) => toInt(connection.localPort)),
  "endpoint.addr": declareVariable(string, (context) => `${hostOf(context)}:${context.connection.localPort}`),
  "endpoint.url": declareVariable(string, endpointUrl),
  "time.now": declareVariable(string, ({ place: { clock } }) => new Date(clock.now()).toISOString()),
};

function hostOf({ connection, exchange }: PolicyContext): string {
  const { tls, hello, local } = connection;
  return exchange?.request.host ?? tls?.serverName ?? hello?.serverName ?? local.localAddress ?? "";
}

function endpointUrl(context: PolicyContext): string {
  const { protocol } = context.place.endpoint;
  const { localPort } = context.connection;
  // The default port of the scheme is omitted.
  const port = protocol === "tcp" || protocol === "tls" ? `:${localPort}` : "";
  return `${protocol}://${hostOf(context)}${port}`;
}

const { common_name: commonName, ...listedAttributes } = nameAttributes;

const extensionType = objectType("extension", { id: string, critical: bool, value: bytes });

export const tlsVariables: Variables = {
  "conn.tls.cipher_suite": ofTls(string, ({ cipher }) => cipher),
  "conn.tls.sni": declareVariable(string, ({ connection: { tls, hello } }) => tls?.serverName ?? hello?.serverName),
  // Header modules use TLSv1.3, policies 1.3.
  "conn.tls.version": ofTls(string, ({ version }) => version.replace(/^TLSv/, "")),
  "conn.tls.ja4_fingerprint": declareVariable(string, ({ connection: { hello } }) => hello?.ja4),
  // Before the handshake, the client's first choice.
  "conn.tls.negotiated_alpn": declareVariable(string, ({ connection: { tls, hello }, exchange }) => {
    if (!tls) return hello?.alpn[0];
    return tls.alpn ?? (exchange?.request.httpVersion === "2" ? "h2" : "http/1.1");
  }),
  "conn.tls.session_resumed": declareAbsent(bool),
  "conn.tls.client.pem": {
    ...ofTls(string, ({ clientCertificate: der }) => der && pemOf(der)),
    cost: ({ connection: { tls } }: PolicyContext) => certificateCost(tls?.clientCertificate?.length),
  },
  ...certificateVariables("client", clientCertificate),
  ...certificateVariables("server", serverCertificate),
};

function ofTls(type: Type, read: (tls: TlsFacts) => Value | undefined): VariableDeclaration {
  return declareVariable(type, ({ connection: { tls } }) => (tls ? read(tls) : undefined));
}

/**
 * Returns the steps for values assembled from a certificate on each read. A client may have chosen all of its content.
 */
function certificateCost(bytes = 0): number {
  return (bytes + 63) >> 6;
}

function certificateVariables(
  whose: "client" | "server",
  find: (tls: TlsFacts | undefined) => TlsCertificate | undefined,
): Variables {
  const of = (type: Type, read: (certificate: TlsCertificate) => Value | undefined): VariableDeclaration =>
    declareVariable(type, ({ connection: { tls } }) => {
      const certificate = find(tls);
      return certificate ? read(certificate) : undefined;
    });
  const made = (type: Type, read: (certificate: TlsCertificate) => Value | undefined): VariableDeclaration => ({
    ...of(type, read),
    cost: ({ connection: { tls } }: PolicyContext) => certificateCost(certificateBytes(tls, whose)),
  });
  const names = (["subject", "issuer"] as const).flatMap((party) => [
    [party, made(string, (certificate) => distinguishedName(certificate[party]))] as const,
    [`${party}.common_name`, of(string, (certificate) => certificate[party][commonName])] as const,
    ...Object.entries(listedAttributes).map(
      ([name, short]) =>
        [
          `${party}.${name}`,
          of(strings, (certificate) => (certificate[party][short] === undefined ? [] : [certificate[party][short]])),
        ] as const,
    ),
  ]);
  const found: Record<string, VariableDeclaration> = {
    ...Object.fromEntries(names),
    san: made(string, ({ dnsNames, emailAddresses, ipAddresses, uris }) =>
      [...dnsNames, ...emailAddresses, ...ipAddresses, ...uris].join(","),
    ),
    "san.dns_names": of(strings, ({ dnsNames }) => dnsNames),
    "san.email_addresses": of(strings, ({ emailAddresses }) => emailAddresses),
    "san.ip_addresses": of(strings, ({ ipAddresses }) => ipAddresses),
    "san.uris": of(strings, ({ uris }) => uris),
    serial_number: of(string, ({ serialNumber }) => serialNumber),
    signature_algorithm: of(string, ({ signatureAlgorithm }) => algorithmName(signatureAlgorithm)),
    "validity.not_before": of(timestamp, ({ notBefore }) => timestampOf(Date.parse(notBefore))),
    "validity.not_after": of(timestamp, ({ notAfter }) => timestampOf(Date.parse(notAfter))),
    extensions: made(listOf(extensionType), ({ extensions }) =>
      extensions.map(({ oid, critical, value }) => ({ id: oid, critical, value })),
    ),
  };
  return Object.fromEntries(Object.entries(found).map(([name, read]) => [`conn.tls.${whose}.${name}`, read]));
}

function certificateBytes(tls: TlsFacts | undefined, whose: "client" | "server"): number | undefined {
  return whose === "client" ? tls?.clientCertificate?.length : tls?.serverCertificate?.certificatePem.length;
}

/** Converts OpenSSL's `sha256WithRSAEncryption` to `SHA256-RSA`. */
function algorithmName(openssl: string): string {
  const rsa = /^(sha\d+)WithRSAEncryption$/i.exec(openssl);
  if (rsa) return `${(rsa[1] as string).toUpperCase()}-RSA`;
  const ecdsa = /^ecdsa-with-(sha\d+)$/i.exec(openssl);
  return ecdsa ? `ECDSA-${(ecdsa[1] as string).toUpperCase()}` : openssl;
}

/** RFC 2253: the last attribute first. */
function distinguishedName(names: Readonly<Record<string, string>>): string {
  return Object.entries(names)
    .reverse()
    .map(([name, value]) => `${name}=${value.replace(/[\\,+"<>;=]/g, "\\$&")}`)
    .join(",");
}
