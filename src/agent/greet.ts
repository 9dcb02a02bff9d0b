import type { TLSSocket } from "node:tls";
import { arch, platform } from "node:os";
import type { Clock } from "../lib/clock.ts";
import { connectSession } from "../tunnel/connect-session.ts";

export interface Greeting {
  readonly accountName: string;
  readonly serverVersion: string;
  readonly latencyMs: number;
  /**
   * How far this machine's clock is ahead of the server's, milliseconds. Undefined if the server does not send its
   * time.
   */
  readonly clockAheadMs: number | undefined;
}

/**
 * Authenticates with the token and disconnects. Rejects with `Refusal` if the server refuses the token.
 *
 * @param timeoutMs time limit for the server, milliseconds; 10 s by default
 */
export async function greetServer(
  socket: TLSSocket,
  token: string,
  clock: Clock,
  version: string,
  timeoutMs = 10_000,
): Promise<Greeting> {
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
      answerMs: timeoutMs,
    },
    {
      proxied: (_id, _header, stream) => stream.abort(),
      command: () => Promise.reject(new Error("This agent is stopping.")),
      stopped() {},
      closed() {},
    },
  );
  const latencyMs = clock.monotonic() - since;
  session.close();
  const { accountName, serverVersion, serverTime } = session;
  const clockAheadMs = serverTime > 0 ? clock.now() - serverTime - latencyMs / 2 : undefined;
  return { accountName, serverVersion, latencyMs, clockAheadMs };
}
