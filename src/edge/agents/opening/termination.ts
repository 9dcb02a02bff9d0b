/** TLS termination at the edge, as requested by an agent (agent-protocol, "Options of a tunnel"). */
import { Refusal } from "../../../lib/errors.ts";
import { readOwnCertificate } from "../../../lib/certificates/own-certificate.ts";
import type { OwnCertificate } from "../../../lib/certificates/own-certificate.ts";

export interface Termination {
  /** The agent's own certificate. Undefined for the edge's certificate of the name. */
  readonly certificate: OwnCertificate | undefined;
}

/** Name of the option in lower case. It is read here and not compiled to a module. */
export const terminationOption = "tlstermination";
/** Maximum size of the certificate with its chain, and of the key, in base64. */
const maxBytes = 64 * 1024;

/**
 * Reads the termination options of a tls tunnel. Returns undefined if TLS is passed through. Throws
 * `agent_request_invalid`.
 */
export function readTermination(options: Readonly<Record<string, unknown>>): Termination | undefined {
  const key = Object.keys(options).find((name) => name.toLowerCase() === terminationOption);
  const option = key === undefined ? undefined : options[key];
  if (option === undefined || option === null) return undefined;
  if (typeof option !== "object" || Array.isArray(option)) throw refuseTermination("it is not an object");
  const { cert, key: privateKey, ...others } = option as Readonly<Record<string, unknown>>;
  const unread = Object.keys(others).find((name) => !isEmpty(others[name]));
  if (unread !== undefined) {
    throw new Refusal("agent_option_unsupported", `end TLS for a tunnel: "${unread}" is not supported`);
  }
  if (isEmpty(cert) && isEmpty(privateKey)) return { certificate: undefined };
  return { certificate: readCertificate(decodePem(cert, "cert"), decodePem(privateKey, "key")) };
}

function readCertificate(certificatePem: string, keyPem: string): OwnCertificate {
  const read = readOwnCertificate(certificatePem, keyPem);
  if ("id" in read) return read;
  throw refuseTermination(`"${read.of === "key" ? "key" : "cert"}" must ${read.must}`);
}

function decodePem(value: unknown, name: string): string {
  if (typeof value !== "string" || value.length > maxBytes)
    throw refuseTermination(`"${name}" must be base64 of a PEM file`);
  return Buffer.from(value, "base64").toString();
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}

function refuseTermination(why: string): Refusal {
  return new Refusal("agent_request_invalid", `compile the option "TLSTermination": ${why}`);
}
