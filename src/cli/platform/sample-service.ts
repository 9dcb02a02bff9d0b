import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer } from "../../lib/http.ts";

/** Maximum size of the request body that is shown, bytes. */
const maxBodyBytes = 4096;

/** Default service of `postern dev`: it responds with the request that it received. Listens on a free loopback port. */
export async function startSampleService(): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const server = createServer(
    { keepAliveTimeout: 60_000, requestTimeout: 60_000, maxHeaderSize: 65_536 },
    (request, response) => void answerVisitor(request, response),
  );
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answerVisitor(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      if (size < maxBodyBytes) body.push(chunk);
      size += chunk.length;
    }
  } catch {
    response.destroy();
    return;
  }
  const lines = [
    "This is Postern's sample service. Your request passed the edge, the tunnel and the agent, and arrived here:",
    "",
    `${request.method} ${request.url} HTTP/${request.httpVersion}`,
    ...headerLines(request.rawHeaders),
    "",
    Buffer.concat(body).subarray(0, maxBodyBytes).toString("utf8"),
    ...(size > maxBodyBytes ? [`… ${size - maxBodyBytes} bytes more`] : []),
  ];
  const text = `${lines.join("\n").trimEnd()}\n`;
  response.writeHead(200, {
    "content-type": "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  response.end(text);
}

function headerLines(raw: readonly string[]): string[] {
  return raw.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${raw[at + 1]}`] : []));
}
