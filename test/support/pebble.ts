/** Let's Encrypt's test authority (Debian: `pebble`), with its own name server and certificates, on free ports. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttps, request as requestHttps } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { startDns } from "./dns.ts";
import { findProgram } from "./programs.ts";

export interface Pebble {
  readonly directoryUrl: string;
  /** Authority of the certificate of pebble's own server. */
  readonly ca: string;
  /** Returns the root of the certificates that pebble currently issues. */
  issuingRoot(): Promise<string>;
  stop(): Promise<void>;
}

export interface PebblePlan {
  readonly directoryUrl: string;
  readonly ca: string;
  /**
   * @param ports the edge's listeners, for pebble's validation
   * @param nameServer `ADDRESS:PORT`. Default: a server for which every name is this machine
   * @param externalAccount that pebble then requires
   */
  start(
    ports: { readonly http: number; readonly https: number },
    nameServer?: string,
    externalAccount?: { readonly keyId: string; readonly secret: string },
  ): Promise<Pebble>;
  /** Frees the ports of an authority that is never started. Until then, it closes every connection. */
  cancel(): Promise<void>;
}

/** Ends the program when this process ends, even after a crash. */
const untilInputEnds = `exec 3<&0; "$0" "$@" <&- & pid=$!; { cat <&3; kill $pid; } >/dev/null 2>&1 & wait $pid`;

/** Chooses ports, so that a server can be configured with the authority before the authority runs. */
export async function planPebble(): Promise<PebblePlan> {
  const held = [await holdPort(), await holdPort()] as const;
  const [port, managementPort] = [held[0].port, held[1].port];
  const authority = await createAuthority({ commonName: "Pebble's own", now: Date.now() });
  const leaf = await issueLeaf(authority, { names: ["localhost", "127.0.0.1"], now: Date.now(), days: 2 });
  const ca = authority.certificatePem;
  const directoryUrl = `https://localhost:${port}/dir`;
  return {
    directoryUrl,
    ca,
    async cancel() {
      await Promise.all(held.map((one) => one.free()));
    },
    async start({ http, https }, nameServer, externalAccount) {
      const dns = await startDns();
      const files = mkdtempSync(join(tmpdir(), "postern-pebble-"));
      const file = (name: string, text: string): string => {
        writeFileSync(join(files, name), text);
        return join(files, name);
      };
      const pebble = {
        listenAddress: `127.0.0.1:${port}`,
        managementListenAddress: `127.0.0.1:${managementPort}`,
        certificate: file("cert.pem", leaf.certificatePem),
        privateKey: file("key.pem", leaf.keyPem),
        httpPort: http,
        tlsPort: https,
        ocspResponderURL: "",
        externalAccountBindingRequired: externalAccount !== undefined,
        ...(externalAccount && { externalAccountMACKeys: { [externalAccount.keyId]: externalAccount.secret } }),
        domainBlocklist: ["blocked.example.test"],
        // 90 days, as from public authorities
        certificateValidityPeriod: 90 * 24 * 60 * 60,
      };
      const config = file("config.json", JSON.stringify({ pebble }));
      const options = ["-strict", "-config", config, "-dnsserver", nameServer ?? dns.address];
      await Promise.all(held.map((one) => one.free()));
      const child = spawn("sh", ["-c", untilInputEnds, findProgram("pebble") as string, ...options], {
        env: {
          PATH: process.env["PATH"],
          PEBBLE_VA_NOSLEEP: "1",
          PEBBLE_WFE_NONCEREJECT: "10",
          PEBBLE_AUTHZREUSE: "0",
        },
        stdio: ["pipe", "pipe", "pipe"],
      });
      let output = "";
      const announced = Promise.withResolvers<void>();
      for (const stream of [child.stdout, child.stderr]) {
        stream.on("data", (text) => {
          output += String(text);
          if (output.includes("directory available")) announced.resolve();
        });
      }
      const gone = once(child, "exit");
      // Pebble prints this line just before it listens.
      await Promise.race([announced.promise, gone]);
      const send = (url: string): Promise<string> => get(url, ca);
      while (!(await send(directoryUrl).catch(() => undefined))) {
        if (child.exitCode === null) continue;
        await dns.stop();
        throw new Error(`pebble ended: ${output}`);
      }
      return {
        directoryUrl,
        ca,
        issuingRoot: () => send(`https://localhost:${managementPort}/roots/0`),
        async stop() {
          child.stdin.end();
          await gone;
          await dns.stop();
          rmSync(files, { recursive: true, force: true });
        },
      };
    },
  };
}

export interface RenewalFront {
  readonly directoryUrl: string;
  readonly ca: string;
  /** The renewal window that pebble returns for every certificate. */
  window: { readonly start: number; readonly end: number };
  /**
   * IDs of the certificates in requests for renewal information, and of those that an accepted order named as replaced.
   */
  readonly asked: string[];
  readonly replaced: string[];
  stop(): Promise<void>;
}

/**
 * A proxy in front of a pebble without renewal information (RFC 9773). It adds that information and forwards the rest.
 */
export async function startRenewalFront(pebble: PebblePlan): Promise<RenewalFront> {
  const authority = await createAuthority({ commonName: "Front's own", now: Date.now() });
  const leaf = await issueLeaf(authority, { names: ["localhost"], now: Date.now(), days: 2 });
  const asked: string[] = [];
  const replaced: string[] = [];
  const upstream = new URL(pebble.directoryUrl);
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method, url = "/", headers } = request;
    const id = /^\/renewal-info\/(.+)$/.exec(url)?.[1];
    if (id !== undefined) {
      asked.push(id);
      const [start, end] = [front.window.start, front.window.end].map((at) => new Date(at).toISOString());
      response.writeHead(200, { "content-type": "application/json", "retry-after": "21600" });
      response.end(JSON.stringify({ suggestedWindow: { start, end } }));
      return;
    }
    const body = await bytesOf(request);
    const payload = url === "/order-plz" ? (JSON.parse(body.toString()) as { payload: string }).payload : "";
    const order = JSON.parse(Buffer.from(payload, "base64url").toString() || "{}") as { replaces?: string };
    const forwarded = requestHttps({
      host: "127.0.0.1",
      port: upstream.port,
      servername: "localhost",
      ca: pebble.ca,
      agent: false,
      method,
      path: url,
      headers,
    });
    forwarded.end(body);
    const [answer] = (await once(forwarded, "response")) as [IncomingMessage];
    if (order.replaces !== undefined && answer.statusCode === 201) replaced.push(order.replaces);
    let bytes = await bytesOf(answer);
    if (url === "/dir") {
      const directory = JSON.parse(bytes.toString()) as object;
      const renewalInfo = `https://${headers.host}/renewal-info`;
      bytes = Buffer.from(JSON.stringify({ ...directory, renewalInfo }));
    }
    const { "transfer-encoding": _framing, ...fields } = answer.headers;
    response.writeHead(answer.statusCode ?? 0, { ...fields, "content-length": bytes.length });
    response.end(bytes);
  };
  const server = createHttps({ cert: leaf.certificatePem, key: leaf.keyPem }, (request, response) => {
    pass(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const front: RenewalFront = {
    directoryUrl: `https://localhost:${(server.address() as AddressInfo).port}/dir`,
    ca: authority.certificatePem,
    window: { start: 0, end: 0 },
    asked,
    replaced,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return front;
}

async function bytesOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function get(url: string, ca: string): Promise<string> {
  const request = requestHttps(url, { ca, agent: false, family: 4 });
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return (await bytesOf(response)).toString();
}

interface HeldPort {
  readonly port: number;
  free(): Promise<void>;
}

/** Reserves a port. No other process gets it and no one listens on it until it is freed for its purpose. */
async function holdPort(): Promise<HeldPort> {
  const server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async free() {
      server.close();
      await once(server, "close");
    },
  };
}
