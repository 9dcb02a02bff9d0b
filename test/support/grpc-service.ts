/** A gRPC service, which supports only HTTP/2, and a visitor's calls of it. */
import { once } from "node:events";
import { connect, createSecureServer, createServer } from "node:http2";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { AddressInfo } from "node:net";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import type { TestPlatform } from "./platform.ts";

export interface GrpcService {
  /** Address for an agent's target. */
  readonly addr: string;
  /** Method, authority, path, the fields `te` and `x-both`, and the body in hexadecimal, for each request. */
  readonly asked: string[];
  stop(): void;
}

/**
 * Starts a service that rejects every call, after a message of two bytes.
 * @param isSecure the service uses TLS with a certificate of an unknown authority
 */
export async function startGrpcService(isSecure = false): Promise<GrpcService> {
  const asked: string[] = [];
  const refuse = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const { method, authority, url, headers } = request;
      const fields = ["te", "x-both"].flatMap((name) => (headers[name] ? [`${name}: ${String(headers[name])}`] : []));
      asked.push([method, authority, url, ...fields, Buffer.concat(parts).toString("hex")].join(" "));
      response.writeHead(200, { "content-type": "application/grpc" });
      response.addTrailers({ "grpc-status": "7", "grpc-message": "not%20you" });
      response.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
    });
  };
  const server = isSecure ? createSecureServer(await certified(), refuse) : createServer(refuse);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const addr = `${isSecure ? "https" : "h2c"}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { addr, asked, stop: () => void server.close() };
}

async function certified(): Promise<{ readonly cert: string; readonly key: string }> {
  const now = Date.now();
  const authority = await createAuthority({ commonName: "test", now });
  const { certificatePem, keyPem } = await issueLeaf(authority, { names: ["localhost"], now, days: 1 });
  return { cert: certificatePem, key: keyPem };
}

/** Makes one call with one message. */
export async function callGrpc(platform: TestPlatform, url: string, message: Buffer): Promise<void> {
  const secure = await platform.connect(new URL(url).hostname, ["h2"]);
  const session = connect(url, { createConnection: () => secure });
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  const stream = session.request({
    ":method": "POST",
    ":path": "/shop.Orders/Get",
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.resume().end(Buffer.concat([prefix, message]));
  await once(stream, "close");
  session.destroy();
}
