/** Agent sessions driven by a test: it sees what the server sends and chooses what the agent binds. */
import { once } from "node:events";
import { connect as connectTls } from "node:tls";
import { forward } from "../../src/agent/forward.ts";
import { parseUpstream } from "../../src/agent/upstream.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { connectSession } from "../../src/tunnel/connect-session.ts";
import type { BoundTunnel, ClientBind, ClientOptions, ClientSession } from "../../src/tunnel/client-hooks.ts";
import type { TestEdge } from "./edge.ts";

export interface TestAgent {
  readonly session: ClientSession;
  /** Tunnels that the server has stopped, as `id code`. */
  readonly stopped: string[];
  /** Number of streams opened to the agent. */
  readonly opened: number;
  /** Resolves when the session has ended. */
  readonly closed: Promise<void>;
  bind(more?: Partial<ClientBind>): Promise<BoundTunnel>;
  label(labels: Readonly<Record<string, string>>): Promise<string>;
  close(): void;
}

/** Session options of an agent without optional properties. */
export function sessionOptions(token: string): ClientOptions {
  return {
    clock: systemClock,
    token,
    clientId: "",
    cookie: "",
    metadata: "",
    version: "0.0.0",
    os: "linux",
    arch: "x64",
    commands: [],
  };
}

/**
 * Connects an agent that forwards all connections to `port` on this machine.
 * @param http false for bare connections
 * @param earlier the session that this one continues
 */
export async function connectAgent(
  edge: TestEdge,
  token: string,
  port: number,
  http = true,
  earlier: Pick<ClientOptions, "clientId" | "cookie"> = { clientId: "", cookie: "" },
): Promise<TestAgent> {
  const socket = connectTls({
    host: "127.0.0.1",
    port: edge.edge.agent.port,
    servername: "localhost",
    ca: edge.authority.certificatePem,
  });
  await once(socket, "secureConnect");
  const upstream = parseUpstream(`http://127.0.0.1:${port}`);
  const over = Promise.withResolvers<void>();
  const stopped: string[] = [];
  let opened = 0;
  const session = await connectSession(
    socket,
    { ...sessionOptions(token), clientId: earlier.clientId, cookie: earlier.cookie },
    {
      proxied(_tunnelId, _header, stream) {
        opened += 1;
        forward(stream, { upstream, clock: systemClock, http, watch: undefined, unreachable: () => {} });
      },
      command: () => Promise.resolve(),
      stopped: (id, _message, code) => void stopped.push(`${id} ${code}`),
      closed: () => over.resolve(),
    },
  );
  return {
    session,
    stopped,
    get opened() {
      return opened;
    },
    closed: over.promise,
    bind: (more = {}) => session.bind({ proto: "https", forwardsTo: upstream.text, ...more }),
    label: (labels) => session.startLabelled({ labels, forwardsTo: upstream.text }),
    close: () => session.close(),
  };
}
