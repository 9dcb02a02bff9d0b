import type { Socket } from "node:net";
import { HeadBuffer } from "../../http1/head-buffer.ts";
import { readRequestHead } from "../../http1/read-request.ts";
import type { RequestRead } from "../../http1/read-request.ts";
import { guardListener } from "../../lib/boundary.ts";
import type { ConnectionFacts } from "../../traffic/connection-facts.ts";
import type { Site } from "../../routing/sites/compiled-site.ts";
import { makeAccountConnections } from "./account-connections.ts";
import type { Arrival } from "./arrival.ts";
import type { Clock } from "../../lib/clock.ts";
import { UnreadRest } from "../../lib/unread-rest.ts";
import { startListener } from "./listener.ts";
import type { ListenAddress, Listener, PublicListenerContext } from "./listener.ts";
import { answerPlain, renderPlain, targetOf, unreadableAnswer } from "./plain-answer.ts";
import type { ChallengeBody, PlainAnswer } from "./plain-answer.ts";

/** Endpoints without TLS. */
export interface PlainEndpoints {
  /** Returns the current site for a lower-case host. */
  siteFor(host: string): Site | undefined;
  /**
   * Takes over a connection whose first request is for such a site.
   * @param first bytes that were read from it
   */
  serve(socket: Socket, facts: ConnectionFacts, first: Buffer): void;
}

export interface RedirectOptions extends PublicListenerContext {
  readonly at: ListenAddress;
  /** Port in public URLs. Omitted if it is 443. */
  readonly advertisedHttpsPort: number;
  readonly challengeBody: ChallengeBody;
  readonly endpoints?: PlainEndpoints | undefined;
}

const headLimits = { maxHeadBytes: 16 * 1024, maxTargetBytes: 8 * 1024, maxFields: 100 };
const headTimeoutMs = 10_000;

/**
 * Starts the plain HTTP listener. It redirects each request to the same host and path on HTTPS, one per connection.
 * Exceptions: it answers certificate authorities, and it serves agents' endpoints without TLS.
 */
export async function startRedirectListener(options: RedirectOptions): Promise<Listener> {
  const { clock, advertisedHttpsPort, challengeBody, endpoints, limits } = options;
  const endpointOf = (request: RequestRead): Site | undefined => {
    const target = endpoints && targetOf(request);
    if (!target || challengeBody(target.host, target.path) !== undefined) return undefined;
    return endpoints.siteFor(target.host);
  };
  const accounts = makeAccountConnections(limits.connectionsPerAccount);
  const accept = (arrival: Arrival): void => {
    const { socket } = arrival;
    const head = new HeadBuffer();
    arrival.waitUntil(clock.after(headTimeoutMs, () => socket.destroy()));
    const readNoMore = (): void => {
      socket.removeListener("data", onData);
      socket.removeListener("end", onEnd);
      arrival.endWait();
    };
    const finish = (answer: PlainAnswer): void => {
      readNoMore();
      socket.end(renderPlain(answer));
      dropRest(arrival, clock);
    };
    const onData = guardListener(socket, (bytes: Buffer): void => {
      if (!head.add(bytes, headLimits.maxHeadBytes)) return;
      const read = readRequestHead(head.bytes(), 0, headLimits);
      if (read === undefined) return;
      const site = "outcome" in read ? undefined : endpointOf(read);
      if (site && endpoints) {
        readNoMore();
        if (arrival.enter(accounts, site.accountId)) endpoints.serve(socket, arrival.facts(), head.bytes());
        else socket.destroy();
        return;
      }
      finish("outcome" in read ? unreadableAnswer : answerPlain(read, advertisedHttpsPort, challengeBody));
    });
    const onEnd = guardListener(socket, () => void socket.destroy());
    socket.on("data", onData);
    socket.on("end", onEnd);
    socket.resume();
  };
  return startListener({ ...options, name: "http", accept });
}

/**
 * Reads and discards further bytes of the client. Closing with unread bytes would reset the connection before the
 * client has the response.
 */
function dropRest(arrival: Arrival, clock: Clock): void {
  const { socket } = arrival;
  const rest = new UnreadRest(clock.monotonic());
  const drop = (bytes: Buffer): void => {
    if (!rest.drop(bytes.length, clock.monotonic())) socket.destroy();
  };
  socket.on("data", guardListener(socket, drop));
  socket.resume();
  const look = (): void => {
    const leftMs = rest.expiresAt - clock.monotonic();
    if (leftMs <= 0) socket.destroy();
    else arrival.waitUntil(clock.after(leftMs, look));
  };
  look();
}
