/** Checks that the login host resolves, is served by this server, and has a certificate that browsers trust. */
import { lookup } from "node:dns/promises";
import { request as requestHttps } from "node:https";
import type { IncomingMessage } from "node:http";
import { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import type { Finding } from "./finding.ts";

export interface LoginHost {
  readonly host: string;
  readonly domain: string;
  /** HTTPS port of public URLs. */
  readonly port: number;
  /** Certificate of the server's own CA, PEM, if the server runs on this machine. */
  readonly ownCa: string | undefined;
  /** Resolves a name. Default: the system's resolver. */
  readonly addressesOf?: (host: string) => Promise<readonly string[]>;
}

const timeoutMs = 10_000;
const soonMs = 14 * 86_400_000;
const maxAnswer = 65_536;

export async function checkLoginHost({
  host,
  domain,
  port,
  ownCa,
  addressesOf = lookUpHost,
}: LoginHost): Promise<Finding[]> {
  const about = `${host}:${port}`;
  const found = await addressesOf(host);
  if (found.length === 0) {
    const message = `the name has no address: set a DNS record that points to the edge, as for names below ${domain}`;
    return [{ outcome: "wrong", about, message }];
  }
  const findings: Finding[] = [{ outcome: "fine", about, message: `leads to ${found.join(", ")}` }];
  const others = await addressesOf(`postern-doctor.${domain}`);
  if (others.length > 0 && !others.some((one) => found.includes(one))) {
    const message = `names below ${domain} point to ${others.join(", ")}: point this name to the same edge`;
    findings.push({ outcome: "warning", about, message });
  }
  try {
    const { certificate, distrust, text } = await keysAt({ host, port, address: found[0] as string });
    findings.push(isKeySet(text) ? findAnswering(about) : findStranger(about));
    findings.push(judgeCertificate(certificate, { host, about, ownCa, distrust }));
  } catch (error) {
    const message = `no answer over HTTPS (${(error as Error).message}): start the server, and open port ${port} in the firewall`;
    findings.push({ outcome: "wrong", about, message });
  }
  return findings;
}

/** RFC 6761 §6.3: names under localhost are this machine, whatever the resolver returns. */
async function lookUpHost(host: string): Promise<readonly string[]> {
  if (/(?:^|\.)localhost$/.test(host)) return ["127.0.0.1"];
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch {
    return [];
  }
}

interface HostAddress {
  readonly host: string;
  readonly port: number;
  readonly address: string;
}

interface PresentedCertificate {
  readonly certificate: X509Certificate;
  /** Why public CAs do not verify the certificate. */
  readonly distrust: string | undefined;
  readonly text: string;
}

/** Returns the response at the path of the keys and the certificate. The certificate is checked afterwards. */
async function keysAt({ host, port, address }: HostAddress): Promise<PresentedCertificate> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = requestHttps({
    host: address,
    port,
    servername: host,
    path: "/.well-known/jwks.json",
    headers: { host: port === 443 ? host : `${host}:${port}` },
    rejectUnauthorized: false,
    signal: AbortSignal.timeout(timeoutMs),
    agent: false,
  });
  request.once("response", resolve);
  request.once("error", reject);
  request.end();
  const response = await promise;
  const socket = response.socket as TLSSocket;
  const certificate = socket.getPeerX509Certificate();
  const distrust = socket.authorized ? undefined : String(socket.authorizationError);
  if (certificate === undefined) throw new Error("the server sent no certificate");
  let text = "";
  for await (const piece of response as AsyncIterable<Buffer>) {
    text += piece.toString("latin1");
    if (text.length > maxAnswer) break;
  }
  return { certificate, distrust, text: response.statusCode === 200 ? text : "" };
}

function isKeySet(text: string): boolean {
  try {
    return Array.isArray((JSON.parse(text) as { keys?: unknown }).keys);
  } catch {
    return false;
  }
}

function findAnswering(about: string): Finding {
  return { outcome: "fine", about, message: "answers as the login host" };
}

function findStranger(about: string): Finding {
  const message = "another server answers: point the name to the edge, and use the server's value for --idp-host";
  return { outcome: "wrong", about, message };
}

interface Judging extends Pick<LoginHost, "host" | "ownCa">, Pick<PresentedCertificate, "distrust"> {
  readonly about: string;
}

function judgeCertificate(certificate: X509Certificate, { host, about, ownCa, distrust }: Judging): Finding {
  const { subjectAltName = "", validTo } = certificate;
  if (certificate.checkHost(host) === undefined) {
    return { outcome: "wrong", about, message: `its certificate is for ${subjectAltName || "no name"}` };
  }
  const end = Date.parse(validTo);
  if (end < Date.now()) return { outcome: "wrong", about, message: `its certificate has expired at ${validTo}` };
  const isOwn = ownCa !== undefined && certificate.verify(new X509Certificate(ownCa).publicKey);
  if (isOwn) {
    const message =
      "its certificate is from the server's own CA, which browsers trust only after you install it (`postern ca`): accept a public CA's terms with --acme-agree, or upload a certificate for it in the first account";
    return { outcome: "warning", about, message };
  }
  if (distrust !== undefined) {
    return { outcome: "wrong", about, message: `browsers do not trust its certificate (${distrust})` };
  }
  if (end - Date.now() < soonMs) {
    return { outcome: "warning", about, message: `its certificate expires soon, at ${validTo}` };
  }
  return { outcome: "fine", about, message: `shows a certificate until ${validTo}` };
}
