/** An agent with its inspector beside a platform, for a suite: visitors' requests, and calls of the local API. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { request as requestHttp } from "../../src/lib/http.ts";
import { startCommand } from "./command.ts";
import type { Running } from "./command.ts";
import { eventually } from "./eventually.ts";
import { startPlatform } from "./platform.ts";
import type { TestPlatform } from "./platform.ts";
import { startHttpService } from "./services.ts";
import type { HttpService } from "./services.ts";

export const json = { "content-type": "application/json" };

export interface LocalAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

interface Started {
  readonly agent: Running;
  readonly url: string;
  /** Port of the local API; 0 if it is off. */
  readonly port: number;
}

/** The first agent publishes the service and stores its requests. */
export interface InspectedAgent extends Started {
  readonly platform: TestPlatform;
  /** The agent's home. */
  readonly directory: string;
  /** Returns the received request, and sets a cookie. `/stream` keeps its response open. */
  readonly service: HttpService;
  /** Method, URL and body of the requests that reached the service. */
  readonly received: string[];
  /** Starts one more agent, for the service unless `target` is set. The suite stops it. */
  start(...args: readonly string[]): Promise<Started>;
  startAt(target: string, ...args: readonly string[]): Promise<Started>;
  /** @param at the port; default: that of the first agent */
  call(
    method: string,
    path: string,
    body?: object,
    headers?: Record<string, string>,
    at?: number,
  ): Promise<LocalAnswer>;
  /**
   * Returns the requests that the first agent stored.
   * @param query query of the call, including `?`
   */
  listed(query?: string): Promise<LocalAnswer["body"]>;
}

/** Starts the agent before the tests of the calling suite, and stops it after them. */
export function useInspectedAgent(): InspectedAgent {
  const directory = mkdtempSync(join(tmpdir(), "postern-inspector-"));
  const received: string[] = [];
  const running: Running[] = [];
  let platform: TestPlatform;
  let service: HttpService;
  let first: Started;
  before(async () => {
    platform = await startPlatform({ drainMs: 50 });
    service = await startHttpService((request, response) => {
      let text = "";
      request.on("data", (part) => (text += String(part)));
      request.on("end", () => {
        received.push(`${request.method} ${request.url} ${text}`);
        if (request.url === "/stream") {
          response.write("one");
          return;
        }
        response.setHeader("set-cookie", "session=service-secret");
        response.end(`${request.method} ${text} ${request.headers.authorization ?? ""}`);
      });
    });
    writeFileSync(join(directory, "ca.pem"), platform.caPem);
    first = await start("--inspector", "0");
  });
  after(async () => {
    for (const one of running) await one.end();
    await platform.stop();
    await service.stop();
    rmSync(directory, { recursive: true });
  });

  const start = (...args: readonly string[]) => startAt(String(service.port), ...args);
  async function startAt(target: string, ...args: readonly string[]): Promise<Started> {
    const access = ["--server", `127.0.0.1:${platform.agentPort}`, "--ca", join(directory, "ca.pem")];
    const env = { HOME: directory, XDG_CONFIG_HOME: directory, POSTERN_AUTHTOKEN: platform.authtoken };
    const logged = ["--json", "--log-format", "json", ...access];
    const agent = startCommand(["http", target, ...logged, ...args], { env });
    running.push(agent);
    const online = JSON.parse(await agent.firstLine()) as { url: string };
    const isOff = args[args.indexOf("--inspector") + 1] === "off";
    const line = isOff
      ? ""
      : await eventually(() => /"url":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(agent.stderr())?.[1] ?? "", Boolean);
    return { agent, url: online.url, port: Number(line) };
  }
  function call(
    method: string,
    path: string,
    body?: object,
    headers: Record<string, string> = body ? json : {},
    at = first.port,
  ): Promise<LocalAnswer> {
    return new Promise((resolve, reject) => {
      const request = requestHttp({ host: "127.0.0.1", port: at, method, path, headers }, (response) => {
        let text = "";
        response.on("data", (part) => (text += String(part)));
        response.on("end", () => {
          const { statusCode: status = 0, headers: fields } = response;
          resolve({ status, headers: fields, body: text === "" ? undefined : JSON.parse(text) });
        });
      });
      request.on("error", reject);
      request.end(body && JSON.stringify(body));
    });
  }
  return {
    directory,
    received,
    start,
    startAt,
    call,
    listed: async (query = "") => (await call("GET", `/api/requests/http${query}`)).body.requests,
    get platform() {
      return platform;
    },
    get service() {
      return service;
    },
    get agent() {
      return first.agent;
    },
    get url() {
      return first.url;
    },
    get port() {
      return first.port;
    },
  };
}
