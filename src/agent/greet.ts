import type { TLSSocket } from "node:tls";
import { arch, platform } from "node:os";
import type { Clock } from "../lib/clock.ts";
import { connectSession } from "../tunnel/client.ts";

export interface Greeting {
  readonly accountName: string;
  readonly serverVersion: string;
  readonly latencyMs: number;
  /** By how much this machine's clock is ahead of the server's, milliseconds; undefined where the server does not say. */
  readonly clockAheadMs: number | undefined;
}

/**
 * Shows the token to the server and leaves again; rejects with `Refusal` when it is refused.
 *
 * @param timeoutMs how long the server may take, milliseconds; 10 s unless given
 */
export async function greet(
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
