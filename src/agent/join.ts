/** Joining a server with a code: finds the CA that the code names, then brings the secret over a verified connection. */
import { hash, timingSafeEqual, X509Certificate } from "node:crypto";
import type { DetailedPeerCertificate } from "node:tls";
import type { Clock } from "../lib/clock.ts";
import type { JoinCode } from "../lib/join-code.ts";
import { sendJoin } from "../tunnel/client-join.ts";
import { connectServer } from "./connect.ts";
import type { ConnectOptions, ServerAddress } from "./connect.ts";

/** The server's certificates do not include the CA that the code names. */
export class OtherAuthority extends Error {}

const answerMs = 15_000;
/** Certificates of a chain that are looked at. */
const maxChain = 8;

/**
 * Trades the code's secret for an agent token; the secret goes only to a server that proves itself by `ca` and its name.
 * Rejects with `Refusal` where the server gives a reason, and with what a connection fails with.
 *
 * @param ca of `authorityOf`
 */
export async function joinServer(
  code: JoinCode,
  ca: string | undefined,
  name: string,
  clock: Clock,
  way: ConnectOptions,
): Promise<{ readonly token: string; readonly accountName: string }> {
  const socket = await connectServer(code, ca, new AbortController().signal, way);
  return await sendJoin(socket, { secret: code.secret, name }, clock, answerMs);
}

/**
 * PEM of the CA with the fingerprint of the code; undefined where the code names none. The connection that brings the
 * certificates is not verified, and nothing is sent over it. Rejects with `OtherAuthority`.
 */
export async function authorityOf(
  { authority, host, port }: JoinCode,
  way: ConnectOptions,
): Promise<string | undefined> {
  if (!authority) return undefined;
  const socket = await connectServer({ host, port }, undefined, new AbortController().signal, {
    ...way,
    anyCertificate: true,
  });
  const found = withFingerprint(socket.getPeerCertificate(true), authority);
  socket.destroy();
  if (found) return new X509Certificate(found).toString();
  throw new OtherAuthority(`the server ${renderAddress({ host, port })} does not have the CA that the code names`);
}

/** The root's issuer is the root itself. */
function withFingerprint(leaf: DetailedPeerCertificate, fingerprint: Buffer): Buffer | undefined {
  let one: DetailedPeerCertificate | undefined = leaf;
  for (let at = 0; one?.raw && at < maxChain; at += 1) {
    if (timingSafeEqual(hash("sha256", one.raw, "buffer"), fingerprint)) return one.raw;
    one = one.issuerCertificate === one ? undefined : one.issuerCertificate;
  }
  return undefined;
}

/** As settings have it: an IPv6 host in brackets. */
export function renderAddress({ host, port }: ServerAddress): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
