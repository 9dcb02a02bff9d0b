import { hash } from "node:crypto";
import { createSecureContext, createServer } from "node:tls";
import type { SecureContext, TLSSocket } from "node:tls";
import type { Clock } from "../../lib/clock.ts";
import { runUnattended } from "../../lib/boundary.ts";
import { Lru } from "../../lib/collections/lru.ts";
import { makeRate } from "../../lib/rate.ts";
import type { Rate } from "../../lib/rate.ts";
import type { KeyedCertificate } from "../../lib/certificates/x509.ts";
import type { AgentServer } from "../../tunnel/agent-server.ts";
import { makeHandshaker, tlsStrength } from "../tls/handshaker.ts";
import type { Arrival } from "./arrival.ts";
import { startListener } from "./listener.ts";
import type { ListenAddress, Listener, ListenerContext } from "./listener.ts";
import { makeOwnCertificates } from "../tls/own-certificates.ts";
import type { ServerCertificate } from "../tls/server-certificate.ts";
import { ticketSecretMs } from "../tls/ticket-secret.ts";
import type { TicketSecret } from "../tls/ticket-secret.ts";

export interface AgentListenerOptions extends ListenerContext {
  readonly at: ListenAddress;
  /** Authority that signs the listener's certificates and that agents trust. */
  readonly authority: KeyedCertificate;
  /** Names and addresses in the certificate for agents that send no server name, such as those that dial an address. */
  readonly names: readonly string[];
  readonly agents: AgentServer;
  readonly tickets: TicketSecret;
  /** Called when all is prepared. The listener listens when the promise resolves. */
  readonly before?: (() => Promise<void>) | undefined;
}

export interface AgentListener extends Listener {
  /** Uses certificates of another authority from the next handshake on. */
  replaceAuthority(authority: KeyedCertificate): void;
}

const ticketKeyBytes = 48;
/** Interval at which the certificate is checked. It is renewed a month before its end. */
const renewalCheckMs = 24 * 60 * 60 * 1000;

/** Starts the listener for agents: TLS, then the tunnel protocol. Rejects if the address is not available. */
export async function startAgentListener(options: AgentListenerOptions): Promise<AgentListener> {
  const { agents, tickets, limits, clock, log, metrics } = options;
  let { authority } = options;
  const names = [...new Set(options.names)];
  const own = makeOwnCertificates(authority, limits.contexts, clock, log);
  const contexts = new WeakMap<ServerCertificate, SecureContext>();
  const shown = (certificate: ServerCertificate) => secureOptions(certificate, authority);
  const contextOf = (certificate: ServerCertificate): SecureContext => {
    let context = contexts.get(certificate);
    if (!context) contexts.set(certificate, (context = createSecureContext(shown(certificate))));
    return context;
  };
  const first = await own.forListed(names);
  if (!first) throw new Error("issue a certificate for the agent listener: too many were issued recently");

  const mayName = namesPerSource(clock);
  const answerName = async (
    name: string,
    source: string,
    done: (error: Error | null, context?: SecureContext) => void,
  ) => {
    try {
      const leaf = own.made([name]) ?? (mayName(source) ? await own.forCovered([name]) : undefined);
      if (leaf) done(null, contextOf(leaf));
      else done(new Error("issue a certificate: too many names were requested recently"));
    } catch (error) {
      done(error as Error);
    }
  };
  const tls = createServer({
    ...shown(first),
    // An agent may know the server by any name and verifies it by its authority. A server can only choose a context
    // within its own version range, so this does not weaken `minVersion`.
    SNICallback(this: TLSSocket, name, done) {
      if (names.includes(name)) {
        done(null);
        return;
      }
      runUnattended("connection", answerName(name.toLowerCase(), this.remoteAddress ?? "", done));
    },
  });
  // K2: no session of an earlier authority resumes.
  const useTicketKeys = (): void =>
    tls.setTicketKeys(tickets.key(`agents ${hash("sha256", authority.certificatePem)}`, ticketKeyBytes));
  useTicketKeys();
  tickets.onChange(useTicketKeys);
  let current = first;
  const showCurrent = async (): Promise<void> => {
    const renewed = await own.forListed(names);
    if (!renewed || renewed === current) return;
    current = renewed;
    tls.setSecureContext(shown(renewed));
    useTicketKeys();
  };
  const renew = (): void => {
    showCurrent().catch((error: unknown) => log.error("agent listener's certificate not renewed", { error }));
  };
  const renewal = clock.every(renewalCheckMs, renew);

  const handshaker = makeHandshaker(tls);
  const failures = metrics.counter("postern_agent_handshakes_failed_total", "Failed TLS handshakes of agents.");
  const accept = (arrival: Arrival): void => {
    const { socket } = arrival;
    if (!agents.admits(socket.remoteAddress ?? "")) {
      socket.destroy();
      return;
    }
    arrival.waitUntil(clock.after(limits.handshakeTimeoutMs, () => socket.destroy()));
    handshaker.accept(socket, (result) => {
      arrival.endWait();
      if (result instanceof Error) failures.add();
      else agents.accept(result);
    });
  };
  await options.before?.();
  const listener = await startListener({ ...options, name: "agent", accept });
  return {
    ...listener,
    get open() {
      return listener.open;
    },
    replaceAuthority(other) {
      authority = other;
      own.replaceAuthority(other);
      useTicketKeys();
      renew();
    },
    destroy() {
      renewal.cancel();
      listener.destroy();
    },
  };
}

/** Rate limit of certificates for new names per source. Agents know their server by one or two names. */
const nameRate = { perSecond: 0.2, burst: 10 };
const maxSources = 10_000;

/** Whether a source may use a new server name. A source that invents names does not use up the limit of others. */
function namesPerSource(clock: Clock): (source: string) => boolean {
  const sources = new Lru<string, Rate>(maxSources);
  return (source) => {
    let rate = sources.get(source);
    if (!rate) {
      rate = makeRate(nameRate.perSecond, nameRate.burst, () => clock.monotonic());
      sources.set(source, rate);
    }
    return rate.take();
  };
}

function secureOptions(certificate: ServerCertificate, authority: KeyedCertificate) {
  return {
    ...tlsStrength,
    // The same at every edge, so that agents of a node that has died resume at others.
    sessionIdContext: "postern agents",
    // Agents stay connected for long. The secret of the tickets ends earlier.
    sessionTimeout: ticketSecretMs / 1000,
    // Includes the CA, so that an agent with only its fingerprint (`postern join`) receives it here.
    cert: `${certificate.certificatePem}\n${authority.certificatePem}`,
    key: certificate.keyPem,
  };
}
