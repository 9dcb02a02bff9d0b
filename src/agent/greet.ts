import type { TLSSocket } from "node:tls";
import { arch, platform } from "node:os";
import type { Clock } from "../lib/clock.ts";
import { connectSession } from "../tunnel/client.ts";

export interface Greeting {
  readonly accountName: string;
  readonly serverVersion: string;
  readonly latencyMs: number;
}

/** Shows the token to the server and leaves again; rejects with `Refusal` when it is refused. */
export async function greet(socket: TLSSocket, token: string, clock: Clock, version: string): Promise<Greeting> {
  const since = clock.monotonic();
  const session = await connectSession(
    socket,
    {
      clock,
      token,
      clientId: "",
      cookie: "",
      metadata: "",
      version,
      os: platform(),
      arch: arch(),
      commands: [],
      answerMs: 10_000,
    },
    {
      proxied: (_id, _header, stream) => stream.abort(),
      command: () => Promise.reject(new Error("This agent is about to leave.")),
      stopped() {},
      closed() {},
    },
  );
  const latencyMs = clock.monotonic() - since;
  session.close();
  return { accountName: session.accountName, serverVersion: session.serverVersion, latencyMs };
}
