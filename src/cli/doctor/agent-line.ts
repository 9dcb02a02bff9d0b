/** Checks the line from an agent to its server step by step: name, route, connection, certificate, protocol. */
import { lookup } from "node:dns/promises";
import { connect as connectTcp, isIP } from "node:net";
import type { Socket } from "node:net";
import { connect, getCACertificates } from "node:tls";
import type { TLSSocket } from "node:tls";
import type { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { ConnectOptions, ServerAddress } from "../../agent/connect.ts";
import { describeLoss } from "../../agent/end.ts";
import { greetServer } from "../../agent/greet.ts";
import { connectThrough } from "../../agent/proxy.ts";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { posternVersion } from "../process/version.ts";
import type { Finding } from "./finding.ts";

export interface CheckedLine {
  readonly server: ServerAddress;
  /** CA certificates, PEM. Default: the system's. */
  readonly ca: string | undefined;
  readonly token: string;
  readonly connect: ConnectOptions;
  readonly clock: Clock;
}

const stepMs = 10_000;
const soonMs = 14 * 86_400_000;
/** Largest difference between the clocks that is not reported, milliseconds. */
const skewMs = 5_000;

/** Returns the findings in the order of the steps, up to the first failure. */
export async function checkAgentLine(line: CheckedLine): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for await (const finding of checkLine(line)) {
    findings.push(finding);
    if (finding.outcome === "wrong") break;
  }
  return findings;
}

async function* checkLine(line: CheckedLine): AsyncGenerator<Finding> {
  const { server, connect: way, clock } = line;
  const about = `${server.host}:${server.port}`;
  let socket: Socket;
  const proxy = way.proxy?.(server);
  if (proxy) {
    yield {
      outcome: "fine",
      about: "proxy",
      message: `the connection uses the proxy ${proxy.host}, which resolves ${server.host}`,
    };
    const since = clock.monotonic();
    try {
      socket = await limitTime(connectThrough(proxy, server, () => {}));
    } catch (error) {
      yield makeFailure(
        "proxy",
        `${describeLoss(error)}: set another proxy with --proxy, or use none with --proxy none or NO_PROXY`,
      );
      return;
    }
    yield { outcome: "fine", about, message: `connected through the proxy in ${formatMs(clock.monotonic() - since)}` };
  } else {
    yield { outcome: "fine", about: "proxy", message: "no proxy is configured" };
    const addresses = await addressesOf(server.host);
    if (typeof addresses === "string") return void (yield makeFailure("name", addresses));
    yield { outcome: "fine", about: "name", message: `${server.host} leads to ${addresses.join(", ")}` };
    let found: Socket | undefined;
    for (const address of addresses) {
      const since = clock.monotonic();
      try {
        const one = await limitTime(dialServer(address, server.port));
        if (found) one.destroy();
        found ??= one;
        yield {
          outcome: "fine",
          about: "connection",
          message: `${address} accepted the connection in ${formatMs(clock.monotonic() - since)}`,
        };
      } catch (error) {
        const message = `${address} port ${server.port}: ${describeLoss(error)}`;
        yield { outcome: "warning", about: "connection", message };
      }
    }
    if (!found) {
      yield makeFailure(
        "connection",
        `no address accepts connections: start the server, check --agent-listen, and open port ${server.port} in its firewall and for outgoing traffic of this network`,
      );
      return;
    }
    socket = found;
  }
  yield* checkTls(line, socket);
}

async function* checkTls(line: CheckedLine, socket: Socket): AsyncGenerator<Finding> {
  const { server, ca, clock, token } = line;
  const since = clock.monotonic();
  const secure = connect({
    socket,
    ...(isIP(server.host) ? { host: server.host } : { servername: server.host }),
    ca: ca ?? [...getCACertificates("system"), ...getCACertificates("bundled")],
    minVersion: "TLSv1.2",
    // The certificate is checked below.
    rejectUnauthorized: false,
  });
  try {
    await limitTime(once(secure, "secureConnect"));
  } catch (error) {
    const what = `the handshake failed (${describeLoss(error)})`;
    yield makeFailure(
      "TLS",
      `${what}: use the agent port instead of the HTTPS port, and check that no firewall interrupts TLS`,
    );
    return;
  }
  const shown = secure.getPeerX509Certificate();
  if (!shown) {
    yield makeFailure("TLS", "the server sent no certificate");
    return;
  }
  const took = formatMs(clock.monotonic() - since);
  yield {
    outcome: "fine",
    about: "TLS",
    message: `${secure.getProtocol()} in ${took}, certificate by ${issuerOf(shown)}`,
  };
  for (const finding of judgeCertificate(shown, secure, line)) {
    yield finding;
    if (finding.outcome === "wrong") return void secure.destroy();
  }
  try {
    const { serverVersion, accountName, latencyMs, clockAheadMs } = await limitTime(
      greetServer(secure, token, clock, posternVersion()),
    );
    const of = accountName === "" ? "" : `, account ${accountName}`;
    yield { outcome: "fine", about: "protocol", message: `the server (${serverVersion}) accepts the token${of}` };
    yield { outcome: "fine", about: "latency", message: `${formatMs(latencyMs)} for a request and its answer` };
    if (clockAheadMs !== undefined && Math.abs(clockAheadMs) > skewMs) {
      const side = clockAheadMs > 0 ? "ahead of" : "behind";
      const by = Math.round(Math.abs(clockAheadMs) / 1000);
      yield {
        outcome: "warning",
        about: "clock",
        message: `this machine's clock is ${by} s ${side} the server's, so the server may reject signed times: correct the clock that is wrong`,
      };
    }
  } catch (error) {
    secure.destroy();
    yield error instanceof Refusal
      ? makeFailure("token", `the server rejects the token: ${error.message}`)
      : makeFailure(
          "protocol",
          `no agent listener answers here (${describeLoss(error)}): set its host and port with --server`,
        );
  }
}

function* judgeCertificate(
  shown: X509Certificate,
  socket: TLSSocket,
  { server, ca, clock }: CheckedLine,
): Generator<Finding> {
  const now = clock.now();
  const [from, to] = [Date.parse(shown.validFrom), Date.parse(shown.validTo)];
  const here = new Date(now).toISOString();
  if (now < from) {
    yield makeFailure(
      "clock",
      `this machine's time is ${here}, before the certificate's first day (${shown.validFrom}): correct the clock of this machine`,
    );
    return;
  }
  if (now > to) {
    yield makeFailure(
      "clock",
      `the certificate expired at ${shown.validTo}, and this machine's time is ${here}: renew the certificate, or correct the clock of this machine`,
    );
    return;
  }
  yield {
    outcome: "fine",
    about: "clock",
    message: `this machine's time is ${here}, within the certificate's validity`,
  };
  const name = isIP(server.host) ? shown.checkIP(server.host) : shown.checkHost(server.host);
  if (name === undefined) {
    yield makeFailure(
      "certificate",
      `the certificate is for ${shown.subjectAltName ?? "no name"}, not for ${server.host}: use a name from the certificate`,
    );
    return;
  }
  if (!socket.authorized) {
    const whom = ca === undefined ? "the system's CAs do" : "the CAs of --ca do";
    const why = String(socket.authorizationError);
    yield makeFailure(
      "certificate",
      `${whom} not trust the certificate (${why}), issued by ${issuerOf(shown)}: set the server's CA with --ca FILE (\`postern ca\` prints it on the server). If the issuer belongs to this network, a proxy decrypts the traffic`,
    );
    return;
  }
  if (to - now < soonMs)
    yield { outcome: "warning", about: "certificate", message: `the certificate expires soon, at ${shown.validTo}` };
  else
    yield {
      outcome: "fine",
      about: "certificate",
      message: `the certificate is for ${name}, valid until ${shown.validTo}`,
    };
}

/** Returns the addresses, or the message of the error. */
async function addressesOf(host: string): Promise<readonly string[] | string> {
  if (isIP(host)) return [host];
  // RFC 6761 §6.3.
  if (/(?:^|\.)localhost$/.test(host)) return ["127.0.0.1"];
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EAI_AGAIN"
      ? `no name server answers for ${host}: check this machine's network and its name server`
      : `${host} has no address: check its spelling, and the name server of this machine`;
  }
}

async function dialServer(host: string, port: number): Promise<Socket> {
  const socket = connectTcp({ host, port });
  try {
    await once(socket, "connect");
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

async function limitTime<T>(step: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${stepMs / 1000} s`)), stepMs);
  try {
    return await Promise.race([step, promise]);
  } finally {
    clearTimeout(timer);
  }
}

function issuerOf({ issuer }: X509Certificate): string {
  return issuer.replaceAll("\n", ", ");
}

function makeFailure(about: string, message: string): Finding {
  return { outcome: "wrong", about, message };
}

function formatMs(milliseconds: number): string {
  return `${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms`;
}
