/** A server for a SAML provider's metadata. It answers 404 until the test sets the metadata. */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer } from "../../src/lib/http.ts";

export interface MetadataServer {
  readonly url: string;
  /** Number of requests so far. */
  readonly asked: number;
  serve(text: string, headers?: Readonly<Record<string, string>>, status?: number): void;
  stop(): void;
}

export async function startMetadataServer(): Promise<MetadataServer> {
  let answer = (_request: IncomingMessage, response: ServerResponse): unknown => response.writeHead(404).end();
  let asked = 0;
  const server = createServer((request, response) => {
    asked += 1;
    answer(request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/metadata`,
    get asked() {
      return asked;
    },
    serve(text: string, headers = {}, status = 200) {
      answer = (_request, response) =>
        response.writeHead(status, { "content-type": "application/samlmetadata+xml", ...headers }).end(text);
    },
    stop: () => void server.close(),
  };
}
