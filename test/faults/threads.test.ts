/** A plane that dies is restarted, and the other one continues. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { Agent, request as requestHttps } from "node:https";
import { tmpdir } from "node:os";
import { connect as connectTls } from "node:tls";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { request as requestHttp } from "../../src/lib/http.ts";
import { freePorts, root, startCommand } from "../support/command.ts";
import type { Running } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

for (const edges of [1, 2])
  describe(`a server with ${edges === 1 ? "one edge" : "two edges"}`, () => {
    const data = mkdtempSync(join(tmpdir(), "postern-threads-"));
    let server: Running;
    let upstream: HttpService;
    let facts: { url: string; api_url: string; api_key: string; ca_file: string; https_port: number };
    let agent: Agent;

    before(async () => {
      upstream = await startHttpService((_request, response) => response.end("served"));
      server = startCommand(
        ["dev", String(upstream.port), "--json", "--data", data, "--edges", String(edges), "--watchdog-seconds", "2"],
        {
          env: { ...freePorts, NODE_OPTIONS: `--import=${root}test/support/mortal-threads.ts` },
        },
      );
      facts = JSON.parse(await server.firstLine()) as typeof facts;
      agent = new Agent({ ca: readFileSync(facts.ca_file), keepAlive: true, host: "127.0.0.1" });
    });
    after(async () => {
      agent.destroy();
      await server.end();
      await upstream.stop();
      rmSync(data, { recursive: true });
    });

    const read = async (response: IncomingMessage): Promise<string> => {
      let text = "";
      for await (const chunk of response.setEncoding("utf8") as AsyncIterable<string>) text += chunk;
      return text;
    };
    const visit = async (): Promise<string> => {
      const { hostname, host } = new URL(facts.url);
      const request = requestHttps({
        agent,
        host: "127.0.0.1",
        port: facts.https_port,
        servername: hostname,
        headers: { host },
      });
      request.end();
      const [response] = (await once(request, "response")) as [IncomingMessage];
      return `${response.statusCode} ${await read(response)}`;
    };
    const send = async (method: string, path: string, body?: object, more: Record<string, string> = {}) => {
      const request = requestHttp(`${facts.api_url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${facts.api_key}`,
          "service-version": "2",
          ...(body && { "content-type": "application/json" }),
          ...more,
        },
      });
      request.end(body && JSON.stringify(body));
      const [response] = (await once(request, "response")) as [IncomingMessage];
      return { status: response.statusCode, headers: response.headers, text: await read(response) };
    };
    const called = async (path: string): Promise<string> => (await send("GET", path)).text;
    const tunnels = async (): Promise<number> =>
      (JSON.parse(await called("/tunnels")) as { tunnels: unknown[] }).tunnels.length;
    /** Returns whether every edge is connected. */
    const areThere = async (): Promise<boolean> => (await called("/metrics")).includes(`\npostern_edges ${edges}\n`);
    const comesTrue = async (ask: () => Promise<boolean>): Promise<void> => {
      assert.ok(await eventually(() => ask().catch(() => false), Boolean));
    };
    const logged = async (text: string): Promise<void> => {
      while (!server.stderr().includes(text)) await once(server.process.stderr as NodeJS.ReadableStream, "data");
    };

    it("S4: a server continues to serve while its control plane dies and restarts, and the new one knows the tunnels", async () => {
      assert.equal(await visit(), "200 served");
      server.process.kill("SIGHUP");
      await logged("control plane stopped unexpectedly");
      assert.equal(await visit(), "200 served");
      await comesTrue(async () => (await tunnels()) === 1);
      assert.equal(await visit(), "200 served");
    });

    it("a server restarts its edge after it died, with the agent and its URL", async () => {
      server.process.kill("SIGUSR2");
      await logged(edges === 1 ? "edge stopped unexpectedly" : "edge 1 stopped unexpectedly");
      await comesTrue(async () => (await visit()) === "200 served");
      await comesTrue(async () => (await tunnels()) === 1);
    });

    if (edges > 1)
      it("a server with several edges waits for all of them, explains traffic of each, and reports a problem once", async () => {
        await comesTrue(areThere);
        const taken = createServer().listen(0, "127.0.0.1");
        await once(taken, "listening");
        const { port } = taken.address() as AddressInfo;
        const made = await send("POST", "/edges/https", { hostports: ["waited.localhost:443"] }, { prefer: "wait=10" });
        assert.deepEqual([made.status, made.headers["postern-applied"]], [201, "true"], made.text);
        const { id } = JSON.parse(made.text) as { readonly id: string };
        const { endpoints } = JSON.parse(await called("/endpoints")) as {
          readonly endpoints: readonly { readonly id: string }[];
        };
        const described = { url: `${facts.url}/`, method: "GET" };
        const explained = await send("POST", `/endpoints/${endpoints[0]?.id}/explain`, described);
        assert.match(explained.text, /"outcome":"forwarded"/);
        const bound = await send("POST", "/edges/tcp", { hostports: [`localhost:${port}`] }, { prefer: "wait=10" });
        assert.equal(bound.status, 201, bound.text);
        const has = (problems: number) => async () =>
          (await called("/metrics")).includes(`\npostern_configuration_problems ${problems}\n`);
        await comesTrue(has(1));
        taken.close();
        await comesTrue(has(0));
        const metrics = await called("/metrics");
        for (const edge of [1, 2])
          assert.match(metrics, new RegExp(`^postern_http_connections\\{edge="${edge}"\\} `, "m"));
        for (const path of [`/edges/https/${id}`, `/edges/tcp/${(JSON.parse(bound.text) as { id: string }).id}`]) {
          assert.equal((await send("DELETE", path)).status, 204);
        }
      });

    if (edges > 1)
      it("a server with several edges loses only the connections of the edge that dies", async () => {
        await comesTrue(areThere);
        const { hostname, host } = new URL(facts.url);
        const ca = readFileSync(facts.ca_file);
        const open = await Promise.all(
          Array.from({ length: 24 }, async () => {
            const socket = connectTls({ host: "127.0.0.1", port: facts.https_port, servername: hostname, ca });
            await once(socket, "secureConnect");
            // An edge that dies resets or ends its connections.
            socket.on("error", () => {});
            return socket;
          }),
        );
        const closed = open.map((socket) => new Promise<string>((close) => socket.once("close", () => close(""))));
        server.process.kill("SIGUSR2");
        await Promise.race(closed);
        await comesTrue(async () => (await visit()) === "200 served");
        const answers = await Promise.all(
          open.map((socket, at) => {
            const answer = new Promise<string>((begin) =>
              socket.once("data", (bytes: Buffer) => begin(bytes.toString("latin1").slice(0, 13))),
            );
            socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
            return Promise.race([answer, closed[at]]);
          }),
        );
        for (const socket of open) socket.destroy();
        assert.deepEqual(new Set(answers), new Set(["", "HTTP/1.1 200 "]), "some are lost, and the others serve");
      });

    it("a server continues on the same connections after an uncaught error in an edge", async () => {
      await comesTrue(areThere);
      await comesTrue(async () => (await visit()) === "200 served");
      const deaths = server.stderr().split("edge stopped unexpectedly").length;
      server.process.kill("SIGWINCH");
      await logged("task failed");
      assert.equal(await visit(), "200 served");
      assert.equal(server.stderr().split("edge stopped unexpectedly").length, deaths);
    });

    for (const [thread, signal] of [
      [edges === 1 ? "edge" : "edge 1", "SIGURG"],
      ["control plane", "SIGIO"],
    ] as const)
      it(`a server terminates its ${thread} when it hangs, logs what it was executing, and restarts it`, async () => {
        server.process.kill(signal);
        await logged(`${thread} hangs, ending it`);
        assert.match(server.stderr(), /hangForEver/);
        await comesTrue(areThere);
        await comesTrue(async () => (await visit()) === "200 served");
        await comesTrue(async () => (await tunnels()) === 1);
      });

    it("a server logs why one of its threads died", () => {
      assert.match(server.stderr(), /the control plane was told to die/);
      assert.match(server.stderr(), edges === 1 ? /the edge was told to die/ : /the edge 1 was told to die/);
    });
  });
