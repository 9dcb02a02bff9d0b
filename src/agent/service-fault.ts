/** What is wrong between the agent and the service, with what to do about it. */
import { connect as connectTls } from "node:tls";
import { describeLoss } from "./end.ts";
import { dialUpstream } from "./upstream.ts";
import type { Upstream } from "./upstream.ts";

/** Certificates that OpenSSL or Node refuses. */
const certificateCode = /^ERR_TLS_CERT|^CERT_|_CERT(?:_|$)|^UNABLE_TO_|^HOSTNAME_MISMATCH$/;
/** Answers to a ClientHello that are no TLS. */
const noTlsCode = /^EPROTO$|WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNSUPPORTED_PROTOCOL|HTTP_REQUEST/;

/** The service was asked in plain text and wants TLS. */
export class WantsTls extends Error {
  override readonly name = "WantsTls";
}

/** As the end of a sentence about the service. */
export function describeServiceFault(upstream: Upstream, error: Error): string {
  const { code = "" } = error as NodeJS.ErrnoException;
  const place = upstream.text.replace(/^[a-z0-9]+:\/\//, "");
  if (error instanceof WantsTls) {
    return upstream.http2
      ? `the service uses TLS: publish https://${place} with --upstream-protocol http2`
      : `the service uses TLS: publish https://${place}`;
  }
  if (!upstream.tls) return describeLoss(error);
  if (certificateCode.test(code)) {
    const advice =
      code === "ERR_TLS_CERT_ALTNAME_INVALID"
        ? "set the name in its certificate with --upstream-server-name"
        : "set its CA with --upstream-tls-verify-cas";
    return `its certificate is not trusted (${describeLoss(error)}): ${advice}`;
  }
  if (noTlsCode.test(code)) return `the service does not use TLS: publish http://${place}`;
  return describeLoss(error);
}

/** Whether the refusal of a certificate caused the failure. It lasts until somebody acts, so each one is logged. */
export function isCertificateFault(error: Error): boolean {
  return certificateCode.test((error as NodeJS.ErrnoException).code ?? "");
}

/** How long a service may take to begin TLS, milliseconds. */
const probeMs = 2_000;
/** How long an answer counts, milliseconds. */
const keptMs = 30_000;
const probes = new WeakMap<Upstream, { readonly at: number; readonly answer: Promise<boolean> }>();

/**
 * Whether the service at a plain address speaks TLS: asked after it closed a connection without a byte, as servers do
 * with plain requests. One question at a time for each service.
 */
export function speaksTls(upstream: Upstream, now: number): Promise<boolean> {
  const kept = probes.get(upstream);
  if (kept && now - kept.at < keptMs) return kept.answer;
  const answer = new Promise<boolean>((resolve) => {
    const socket = connectTls({ socket: dialUpstream(upstream), rejectUnauthorized: false });
    socket.setTimeout(probeMs, () => socket.destroy());
    socket.once("secureConnect", () => {
      resolve(true);
      socket.destroy();
    });
    socket.on("error", () => {});
    socket.once("close", () => resolve(false));
  });
  probes.set(upstream, { at: now, answer });
  return answer;
}
