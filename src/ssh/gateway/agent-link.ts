/** The session of one SSH client at an edge, as an agent of this server has it. */
import { connect } from "node:net";
import type { Socket } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import { connectSession } from "../../tunnel/connect-session.ts";
import type { ClientHandlers, ClientSession } from "../../tunnel/client-hooks.ts";
import { sealGatewayLogin } from "../../tunnel/gateway-login.ts";
import type { GatewayLogin } from "../../tunnel/gateway-login.ts";
import { makeProofs } from "../../tunnel/proofs.ts";

/** Maximum time to reach the edge, milliseconds. */
const connectMs = 5_000;
/** Maximum growth of all receive windows of one session, bytes. */
const windowBudget = 16 * 1024 * 1024;

export interface AgentLinksOptions {
  readonly clock: Clock;
  /** The secret of the edges, with which logins are sealed. */
  readonly secret: Uint8Array;
  /** Paths of the edges' sockets for this thread. */
  readonly edges: readonly string[];
}

export type OpenLink = (
  login: GatewayLogin & { readonly client: string; readonly metadata: string },
  handlers: ClientHandlers,
) => Promise<ClientSession>;

/** Opens sessions at the edges in turn. Rejects with `Refusal` if the edge does not accept the login. */
export function makeAgentLinks({ clock, secret, edges }: AgentLinksOptions): OpenLink {
  const proofs = makeProofs(Buffer.from(secret));
  let turn = 0;
  const reach = async (): Promise<Socket> => {
    let failure: unknown;
    for (let attempt = 0; attempt < edges.length; attempt += 1) {
      turn = (turn + 1) % edges.length;
      try {
        return await dialSocket(edges[turn] as string, clock);
      } catch (error) {
        failure = error;
      }
    }
    throw new Error("no edge of this server can be reached", { cause: failure });
  };
  return async ({ client, metadata, ...login }, handlers) => {
    const socket = await reach();
    try {
      return await connectSession(
        socket,
        {
          clock,
          token: sealGatewayLogin(proofs, login, clock.now()),
          clientId: "",
          cookie: "",
          metadata,
          version: client,
          os: "",
          arch: "",
          commands: ["stop"],
          windowBudget,
        },
        handlers,
      );
    } catch (error) {
      socket.destroy();
      throw error;
    }
  };
}

function dialSocket(path: string, clock: Clock): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect({ path });
  const timer = clock.after(connectMs, () => socket.destroy(new Error("no answer")));
  socket.once("error", reject);
  socket.once("connect", () => {
    timer.cancel();
    socket.removeListener("error", reject);
    // The session reports a loss.
    socket.on("error", () => {});
    resolve(socket);
  });
  return promise;
}
