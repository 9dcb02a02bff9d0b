/**
 * A proxy between the API and a client whose responses a test cannot see. It checks each response against the API's
 * description.
 */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { createServer } from "../../src/lib/http.ts";
import { send } from "./api.ts";
import type { TestApi } from "./api.ts";
import { checkResponse } from "./response-check.ts";

export interface CheckingProxy {
  readonly baseUrl: string;
  /** @throws if a response was wrong */
  stop(): Promise<void>;
}

export async function startCheckingProxy(api: TestApi): Promise<CheckingProxy> {
  const wrong: unknown[] = [];
  let passed = 0;
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "", url = "", headers } = request;
    const { connection: _, ...kept } = headers as Record<string, string>;
    const body = await buffer(request);
    const answer = await send(api.baseUrl, method, url, body.length > 0 ? body : undefined, kept);
    passed += 1;
    try {
      checkResponse(method, url, answer);
    } catch (error) {
      wrong.push(error);
    }
    response.writeHead(answer.status, answer.headers).end(answer.text);
  };
  const server = createServer((request, response) => {
    pass(request, response).catch((error: unknown) => {
      wrong.push(error);
      response.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
      if (wrong.length > 0) throw new AggregateError(wrong, `${wrong.length} answers are not as described`);
      if (passed === 0) throw new Error("check answers: none has passed");
    },
  };
}
