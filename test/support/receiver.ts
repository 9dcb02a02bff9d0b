/** A server that receives events, and the configuration for a subscription to it. */
import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createServer as createPlainServer } from "../../src/lib/http.ts";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import type { Body, TestApi } from "./api.ts";

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly event: Body;
}

export interface Receiver {
  readonly url: string;
  readonly ca: string;
  readonly received: Received[];
  /** Statuses of the next responses; 204 afterwards. */
  readonly answers: number[];
  /** Resolves when `count` requests have arrived since the start. */
  count(count: number): Promise<void>;
  stop(): Promise<void>;
}

/** @param scheme Postern sends to http only if local upstreams are allowed */
export async function startReceiver(scheme: "https" | "http" = "https"): Promise<Receiver> {
  const authority = await createAuthority({ commonName: "Receivers", now: Date.now() });
  const leaf = await issueLeaf(authority, { names: ["localhost"], days: 1, now: Date.now() });
  const received: Received[] = [];
  const answers: number[] = [];
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    let text = "";
    request.on("data", (bytes: Buffer) => (text += bytes.toString()));
    request.on("end", () => {
      received.push({ headers: request.headers, text, event: JSON.parse(text) });
      const status = answers.shift() ?? 204;
      response.writeHead(status, status === 302 ? { location: `${url}/elsewhere` } : {});
      response.end();
      server.emit("counted");
    });
  };
  const keyed = { cert: leaf.certificatePem, key: leaf.keyPem };
  const server = scheme === "https" ? createServer(keyed, take) : createPlainServer(take);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `${scheme}://localhost:${(server.address() as AddressInfo).port}`;
  return {
    url,
    ca: authority.certificatePem,
    received,
    answers,
    async count(count) {
      while (received.length < count) await once(server, "counted");
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export async function subscribe(
  api: Pick<TestApi, "ok">,
  target: Body,
  types: readonly string[],
  key?: string,
): Promise<Body> {
  const destination = await api.ok("POST", "/event_destinations", { target }, key);
  const sources = types.map((type) => ({ type }));
  const subscription = await api.ok(
    "POST",
    "/event_subscriptions",
    { sources, destination_ids: [destination.id] },
    key,
  );
  return { destination, subscription };
}
