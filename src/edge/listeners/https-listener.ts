import type { Socket } from "node:net";
import type { AcmeChallenges } from "../tls/acme-challenges.ts";
import { encodeAlert } from "../tls/alert.ts";
import { peekClientHello } from "../tls/client-hello.ts";
import type { Peek } from "../tls/client-hello.ts";
import type { Handshaker } from "../tls/handshaker.ts";
import { endWith } from "../../lib/io/socket-stream.ts";
import type { Arrival } from "./arrival.ts";
import { makeHandshakeCounter } from "./handshake-counter.ts";
import { makeHttpsHandshakes } from "./https-handshake.ts";
import type { HttpsHandshakesOptions } from "./https-handshake.ts";
import { startListener } from "./listener.ts";
import type { ListenAddress, Listener, PublicListenerContext } from "./listener.ts";
import { peekAtSocket } from "./peek.ts";
import type { Look } from "./peek.ts";

export interface HttpsListenerOptions extends PublicListenerContext, HttpsHandshakesOptions {
  readonly at: ListenAddress;
  readonly challenges: Pick<AcmeChallenges, "handshaker">;
}

const httpMethod = /^[A-Z]{3,10} /;
const plainHttpAnswer =
  "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: 48\r\n\r\n" +
  "This port speaks HTTPS: use an https:// address\n";

/**
 * Starts the public HTTPS listener. It reads the ClientHello first to find the site. The handshake then uses the site's
 * certificate, minimum version and client certificate settings. HTTP follows.
 *
 * A name without a site gets a handshake if it is under the server's domain, so that a browser can show an error page.
 * Other names get the alert `unrecognized_name`.
 */
export async function startHttpsListener(options: HttpsListenerOptions): Promise<Listener> {
  const { limits, deadlines, log } = options;
  const ended = makeHandshakeCounter(options.metrics);
  const handshakes = makeHttpsHandshakes(options, ended);

  const accept = (arrival: Arrival): void => {
    const { socket } = arrival;
    const late = (): void => {
      ended("timeout");
      socket.destroy();
    };
    arrival.waitUntil(deadlines.after(limits.helloTimeoutMs, late));
    peekAtSocket(socket, (bytes): Look => {
      const seen = peekClientHello(bytes);
      if (seen.state === "more") return seen;
      arrival.endWait();
      const next = (): void => {
        if (seen.state === "invalid") {
          refuse(socket, seen, bytes);
          return;
        }
        const challenge = options.challenges.handshaker(seen.hello.serverName, seen.hello.alpn);
        if (challenge) {
          answerChallenge(arrival, challenge);
          return;
        }
        const failed = (error: unknown): void => {
          log.error("TLS handshake not started", { server_name: seen.hello.serverName, error });
          endWith(socket, encodeAlert("internalError"));
        };
        try {
          handshakes.begin(arrival, seen.hello)?.catch(failed);
        } catch (error) {
          failed(error);
        }
      };
      return { taken: 0, next };
    });
  };
  /** RFC 8737 §3: after the handshake has shown the certificate, the connection ends. */
  const answerChallenge = (arrival: Arrival, challenge: Handshaker): void => {
    const { socket } = arrival;
    arrival.waitUntil(deadlines.after(limits.handshakeTimeoutMs, () => socket.destroy()));
    challenge.accept(socket, (result) => {
      ended(result instanceof Error ? "failed" : "completed");
      if (!(result instanceof Error)) result.end();
    });
  };
  const refuse = (socket: Socket, seen: Peek & { readonly state: "invalid" }, bytes: Buffer): void => {
    ended("unreadable");
    log.debug("ClientHello refused", { source: socket.remoteAddress, reason: seen.reason });
    const isHttp = httpMethod.test(bytes.toString("latin1", 0, 11));
    endWith(socket, isHttp ? plainHttpAnswer : encodeAlert(seen.alert));
  };

  return await startListener({ ...options, name: "https", accept });
}
