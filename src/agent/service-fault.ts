/** Explains faults between the agent and its service, with advice. */
import { connect as connectTls } from "node:tls";
import { describeLoss } from "./end.ts";
import { dialUpstream } from "./upstream.ts";
import type { Upstream } from "./upstream.ts";

/** Error codes of certificates that OpenSSL or Node rejects. */
const certificateCode = /^ERR_TLS_CERT|^CERT_|_CERT(?:_|$)|^UNABLE_TO_|^HOSTNAME_MISMATCH$/;
/** Error codes of responses to a ClientHello that are not TLS. */
const noTlsCode = /^EPROTO$|WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNSUPPORTED_PROTOCOL|HTTP_REQUEST/;

/** The service expects TLS but received a plain request. */
export class WantsTls extends Error {
  override readonly name = "WantsTls";
}

/** Describes the fault, as the end of a sentence about the service. */
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

/**
 * Whether a rejected certificate caused the failure. It persists until someone fixes it, so each occurrence is logged.
 */
export function isCertificateFault(error: Error): boolean {
  return certificateCode.test((error as NodeJS.ErrnoException).code ?? "");
}

/** Time limit for the start of TLS at a service, milliseconds. */
const probeMs = 2_000;
/** How long a probe's result is cached, milliseconds. */
const keptMs = 30_000;
const probes = new WeakMap<Upstream, { readonly at: number; readonly answer: Promise<boolean> }>();

/**
 * Probes whether the service at a plain address speaks TLS, after it closed a connection without a byte, as TLS servers
 * do with plain requests. Each service has at most one probe at a time.
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
