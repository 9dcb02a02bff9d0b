import { X509Certificate } from "node:crypto";
import type { CapturedRequest } from "../capture/captured-request.ts";
import { sameDemands } from "../edge/tls/demands.ts";
import type { Handshake } from "../traffic/handshake.ts";

/** `unknown`: with the reason. */
export type HandshakeVerdict = "same" | "refused" | { readonly unknown: string };

const marks = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Returns whether the candidate's demands would have refused the recorded connection. */
export function handshakeWith(
  before: Handshake,
  after: Handshake,
  tls: CapturedRequest["connection"]["tls"],
): HandshakeVerdict {
  if (tls === undefined || sameDemands(before, after)) return "same";
  if (after.minVersion === "TLSv1.3" && tls.version === "TLSv1.2") return "refused";
  if (after.passthrough === true) return { unknown: "the edge would no longer terminate TLS" };
  const demand = after.clientCertificates ?? (after.clientAuthorities === undefined ? "request" : "verify");
  if (demand === "request") return "same";
  const { clientCertificate } = tls;
  if (clientCertificate === undefined) {
    const wasAsked = before.clientAuthorities !== undefined || before.clientCertificates !== undefined;
    return wasAsked ? "refused" : { unknown: "the client was not asked for a certificate" };
  }
  if (demand === "any" || before.clientAuthorities === after.clientAuthorities) return "same";
  const certificate = new X509Certificate(clientCertificate);
  const authorities = (after.clientAuthorities ?? "").match(marks) ?? [];
  const isIssued = authorities.some((pem) => {
    const authority = new X509Certificate(pem);
    return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
  });
  return isIssued ? "same" : "refused";
}
