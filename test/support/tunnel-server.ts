/** The agent listener with a separate register: the part of an edge that tests of the tunnel protocol need. */
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { createServer } from "node:tls";
import type { Server, TLSSocket } from "node:tls";
import type { ByteStream } from "../../src/lib/io/byte-stream.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { Refusal } from "../../src/lib/errors.ts";
import { silentLog } from "../../src/lib/log.ts";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import type { KeyedCertificate } from "../../src/lib/certificates/x509.ts";
import type { AgentInboxAnswer } from "../../src/routing/planes/inbox-questions.ts";
import { makeAgentServer } from "../../src/tunnel/agent-server.ts";
import type { AgentServer, AgentServerOptions } from "../../src/tunnel/agent-server.ts";
import type {
  AgentSession,
  AuthRequest,
  BindRequest,
  InboxRequest,
  JoinRequest,
  LabelRequest,
  TunnelChange,
  ServerHooks,
} from "../../src/tunnel/server-hooks.ts";

export const rightToken = "right-token";
export const secret = Buffer.alloc(32, 7);

export interface Authority {
  readonly ca: KeyedCertificate;
  readonly leaf: KeyedCertificate;
}

export async function makeAuthority(): Promise<Authority> {
  const now = Date.now();
  const ca = await createAuthority({ commonName: "Tunnel test", now });
  return { ca, leaf: await issueLeaf(ca, { names: ["localhost", "127.0.0.1"], now, days: 2 }) };
}

/** Records the calls of the protocol layer, in order. Assigns names under example.test. */
export class Register implements ServerHooks {
  readonly events: string[] = [];
  readonly auths: AuthRequest[] = [];
  readonly sessions: AgentSession[] = [];
  readonly binds: { readonly id: string; readonly request: BindRequest }[] = [];
  readonly labelled: { readonly id: string; readonly request: LabelRequest }[] = [];
  /** Currently bound tunnels. */
  readonly tunnels = new Map<string, AgentSession>();
  readonly #waiting: { readonly holds: () => boolean; readonly go: () => void }[] = [];

  authenticate(request: AuthRequest): { accountId: string; accountName: string; credentialId: string } {
    this.auths.push(request);
    this.#note("authenticate");
    const account = /^right-token(?:-(\w+))?$/.exec(request.token);
    if (!account) throw new Refusal("agent_token_unknown");
    return { accountId: `ac_${account[1] ?? "1"}`, accountName: "Test", credentialId: "cr_1" };
  }

  inbox({ verb }: InboxRequest): Promise<AgentInboxAnswer> {
    this.#note(`inbox ${verb}`);
    return Promise.reject(new Refusal("agent_inbox_unavailable"));
  }

  join({ name }: JoinRequest): Promise<{ token: string; accountName: string }> {
    this.#note(`join ${name}`);
    return Promise.reject(new Refusal("agent_code_unknown"));
  }

  opened(session: AgentSession): void {
    this.sessions.push(session);
    this.#note(`opened ${session.id}`);
  }

  bind(session: AgentSession, id: string, request: BindRequest): { url: string; hostname: string; address: string } {
    if (request.hostname === "taken.example.test") throw new Refusal("agent_name_taken");
    this.binds.push({ id, request });
    this.tunnels.set(id, session);
    this.#note(`bind ${id}`);
    const hostname = request.hostname || `${request.subdomain || id.slice(-8)}.example.test`;
    if (request.proto !== "tcp") return { url: `${request.proto}://${hostname}`, hostname, address: "" };
    const address = request.address || "tcp.example.test:20001";
    return { url: `tcp://${address}`, hostname: "", address };
  }

  abandoned(id: string): void {
    this.#note(`abandoned ${id}`);
  }

  label(session: AgentSession, id: string, request: LabelRequest): void {
    this.labelled.push({ id, request });
    this.tunnels.set(id, session);
    this.#note(`label ${id}`);
  }

  patch(_session: AgentSession, tunnelId: string, change: TunnelChange): undefined {
    this.#note(`patch ${tunnelId} ${Object.keys(change).join()}`);
  }

  unbind(session: AgentSession, tunnelId: string): void {
    if (this.tunnels.get(tunnelId) === session) this.tunnels.delete(tunnelId);
    this.#note(`unbind ${tunnelId}`);
  }

  closed(session: AgentSession): void {
    this.#note(`closed ${session.id}`);
  }

  /** Resolves as soon as `holds` returns true. It is checked after every event here. */
  until(holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve();
    return new Promise((go) => this.#waiting.push({ holds, go }));
  }

  #note(event: string): void {
    this.events.push(event);
    for (const one of this.#waiting.filter((waiter) => waiter.holds())) {
      this.#waiting.splice(this.#waiting.indexOf(one), 1);
      one.go();
    }
  }
}

export interface TunnelServer {
  readonly port: number;
  readonly register: Register;
  readonly agents: AgentServer;
  /** Connected sockets, in order. */
  readonly sockets: readonly TLSSocket[];
  /** Resolves when the server has accepted one more connection. Each call counts one connection. */
  taken(): Promise<void>;
  stop(): Promise<void>;
}

export interface TunnelServerOptions extends Partial<AgentServerOptions> {
  readonly authority: Authority;
  readonly register?: Register;
  readonly port?: number;
  readonly clock?: Clock;
  /** Receives each socket before the protocol does. */
  readonly connected?: (socket: TLSSocket) => void;
}

export async function startTunnelServer(options: TunnelServerOptions): Promise<TunnelServer> {
  const register = options.register ?? new Register();
  const agents = makeAgentServer(register, {
    secret,
    region: "local",
    serverVersion: "0.1.0",
    ...options,
    clock: options.clock ?? systemClock,
    log: options.log ?? silentLog,
  });
  const sockets: TLSSocket[] = [];
  const closings: Promise<unknown>[] = [];
  const waiting: (() => void)[] = [];
  const raw = new Set<Socket>();
  const { leaf } = options.authority;
  const server: Server = createServer({ key: leaf.keyPem, cert: leaf.certificatePem }, (socket) => {
    sockets.push(socket);
    closings.push(new Promise((resolve) => socket.once("close", () => setImmediate(resolve))));
    options.connected?.(socket);
    agents.accept(socket);
    waiting.shift()?.();
  });
  server.on("connection", (socket: Socket) => {
    raw.add(socket);
    socket.on("close", () => raw.delete(socket));
  });
  server.on("tlsClientError", () => {});
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    register,
    agents,
    sockets,
    taken: () => new Promise((resolve) => waiting.push(resolve)),
    async stop() {
      agents.close("stopped");
      const closed = new Promise((done) => server.close(done));
      for (const socket of raw) socket.destroy();
      await closed;
      await Promise.all(closings);
    },
  };
}

/** Opens a stream to the tunnel; rejects if the tunnel provides none. */
export function openProxy(
  session: AgentSession,
  tunnelId: string,
  proto: "http" | "https" | "tcp" | "tls" = "http",
): Promise<ByteStream> {
  return new Promise((resolve, reject) => {
    session.openProxy(
      { tunnelId, clientAddress: "192.0.2.1:4711", proto, edgeType: "endpoint", passthroughTls: false },
      (stream) => (stream ? resolve(stream) : reject(new Error("no stream"))),
    );
  });
}

/** Writes a request and reads one response with a given body length. The stream stays usable. */
export function exchange(stream: ByteStream, request: string, isComplete: (text: string) => boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    stream.receiver = {
      data(bytes) {
        stream.consumed(bytes.length);
        text += bytes.toString("latin1");
        if (isComplete(text)) resolve(text);
      },
      ended: () => reject(new Error(`ended after ${JSON.stringify(text)}`)),
      drained() {},
      closed: (error) => reject(error ?? new Error("closed")),
    };
    stream.writeLatin1(request);
  });
}
