/** A balancer without affinity: each request goes to the next server, also those of one connection. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer, request as forward } from "../../src/lib/http.ts";

export interface Balancer {
  readonly url: string;
  /** Number of requests that each server got. */
  readonly counts: readonly number[];
  /** Sends requests to these servers from now on. */
  use(urls: readonly string[]): void;
  stop(): void;
}

export async function startBalancer(): Promise<Balancer> {
  let targets: readonly string[] = [];
  let next = 0;
  const counts: number[] = [];
  const server = createServer((request, response) => {
    const at = next++ % targets.length;
    counts[at] = (counts[at] ?? 0) + 1;
    const { method, url = "", headers } = request;
    const sent = forward((targets[at] ?? "") + url, { method, headers, agent: false });
    sent.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      // The first event of a stream can come long after the head.
      response.flushHeaders();
      answer.pipe(response);
    });
    sent.on("error", () => response.destroy());
    response.on("close", () => sent.destroy());
    request.pipe(sent);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    use: (urls) => void (targets = urls),
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
