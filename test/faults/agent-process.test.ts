/**
 * The agent as a process, killed and suspended at each chunk of bytes between agent and server. Replays, whose
 * connection to the service breaks at each chunk.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { request as requestHttp } from "../../src/lib/http.ts";
import { startCommand } from "../support/command.ts";
import type { Running } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startRelay } from "../support/relay.ts";
import type { Relay } from "../support/relay.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

const large = "x".repeat(80_000);

describe("an agent's process", { timeout: 180_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-agent-process-"));
  const posted: string[] = [];
  const running = new Set<Running>();
  let platform: TestPlatform;
  let service: HttpService;
  let relay: Relay;
  let serviceRelay: Relay;
  before(async () => {
    platform = await startPlatform({ drainMs: 50 });
    writeFileSync(join(directory, "ca.pem"), platform.caPem);
    relay = await startRelay(platform.agentPort);
    service = await startHttpService((request, response) => {
      request.resume().on("end", () => {
        if (request.method === "POST") posted.push(request.url ?? "");
        response.end(large);
      });
    });
    serviceRelay = await startRelay(service.port);
  });
  after(async () => {
    for (const one of running) await one.end("SIGKILL");
    relay.stop();
    serviceRelay.stop();
    await platform.stop();
    await service.stop();
    rmSync(directory, { recursive: true });
  });

  function start(name: string, ...more: readonly string[]): Running {
    const way = ["--server", `127.0.0.1:${relay.port}`, "--ca", join(directory, "ca.pem"), "--connections", "1"];
    const target = more.includes("0") ? serviceRelay.port : service.port;
    const env = { HOME: directory, XDG_CONFIG_HOME: directory, POSTERN_AUTHTOKEN: platform.authtoken };
    const args = [
      "http",
      String(target),
      "--url",
      `https://${name}.localhost`,
      "--json",
      "--log-format",
      "json",
      ...way,
    ];
    const one = startCommand([...args, ...(more.length > 0 ? more : ["--inspector", "off"])], { env });
    running.add(one);
    void one.finished.then(() => running.delete(one));
    return one;
  }
  const urlOf = (name: string): string => `https://${name}.localhost:${platform.httpsPort}`;
  const visit = (name: string, path: string, method: string) =>
    platform
      .request(`${urlOf(name)}${path}`, { method, ...(method === "POST" && { body: large }) })
      .then(({ status, text }) => ({ status, isWhole: text === large }))
      .catch(() => ({ status: 0, isWhole: false }));
  async function serves(name: string, what: string): Promise<void> {
    const seen = await eventually(
      () => visit(name, "/", "GET"),
      ({ status }) => status === 200,
    );
    assert.deepEqual(seen, { status: 200, isWhole: true }, what);
  }

  it("an agent's process that is killed while it connects, at any step, leaves its URL to the next", async () => {
    let step = 1;
    for (; ; step += 1) {
      let one: Running | undefined;
      relay.breakAt(step, () => void one?.process.kill("SIGKILL"));
      one = start("killed");
      await one.firstLine().catch(() => undefined);
      const isKilled = relay.hasBroken;
      relay.breakAt(Infinity, () => {});
      if (isKilled) {
        await one.finished;
        one = start("killed");
        await one.firstLine();
      }
      await serves("killed", `step ${step}`);
      await one.end("SIGKILL");
      if (!isKilled) break;
    }
    assert.ok(step > 4, `only ${step} steps`);
  });

  it("an agent's process that is killed during a request loses at most that request, and sends none twice", async () => {
    let one = start("asked");
    await one.firstLine();
    let step = 1;
    for (; ; step += Math.max(1, Math.floor(step / 2))) {
      const current = one;
      relay.breakAt(step, () => void current.process.kill("SIGKILL"));
      const path = `/killed/${step}`;
      const { status, isWhole } = await visit("asked", path, "POST");
      if (status === 200) assert.ok(isWhole || relay.hasBroken, `step ${step}`);
      assert.ok(posted.filter((each) => each === path).length <= 1, `step ${step} was sent twice`);
      if (!relay.hasBroken) break;
      await current.finished;
      one = start("asked");
      await one.firstLine();
      await serves("asked", `after step ${step}`);
    }
    assert.ok(step > 4, `only ${step} steps`);
    await one.end("SIGKILL");
  });

  it("an agent's process that is suspended briefly, at any step of a request, answers it whole, once", async () => {
    const one = start("asleep");
    await one.firstLine();
    let step = 1;
    for (; ; step += Math.max(1, Math.floor(step / 4))) {
      relay.breakAt(step, () => {
        one.process.kill("SIGSTOP");
        // Data that arrives in the meantime waits in the operating system.
        setTimeout(() => one.process.kill("SIGCONT"), 100);
      });
      const path = `/stopped/${step}`;
      assert.deepEqual(await visit("asleep", path, "POST"), { status: 200, isWhole: true }, `step ${step}`);
      assert.equal(posted.filter((each) => each === path).length, 1, `step ${step}`);
      if (!relay.hasBroken) break;
    }
    assert.ok(step > 4, `only ${step} steps`);
    await one.end("SIGKILL");
  });

  it("an agent's process that is suspended past the heartbeat is dropped by the server, and returns to its URL after it resumes", async () => {
    const one = start("frozen", "--inspector", "off", "--heartbeat-interval", "1s", "--heartbeat-tolerance", "1s");
    await one.firstLine();
    await serves("frozen", "before");
    one.process.kill("SIGSTOP");
    const sessions = async (): Promise<unknown[]> =>
      (await platform.api("GET", "/tunnel_sessions")).body.tunnel_sessions as unknown[];
    assert.deepEqual(await eventually(sessions, ({ length }) => length === 0), []);
    assert.notEqual((await visit("frozen", "/", "GET")).status, 200);
    one.process.kill("SIGCONT");
    await serves("frozen", "after");
    await one.end("SIGKILL");
  });

  for (const fault of ["cut", "stall"] as const) {
    it(`an agent's process whose connection to the service breaks (${fault}) in a replay, at any step, sends the replay at most once`, async () => {
      const one = start(`replays-${fault}`, "--inspector", "0");
      await one.firstLine();
      const port = await eventually(() => /"url":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(one.stderr())?.[1] ?? "", Boolean);
      assert.equal((await visit(`replays-${fault}`, `/${fault}`, "POST")).status, 200);
      const api = (
        method: string,
        path: string,
        body?: object,
      ): Promise<{ status: number; text: string; location: string | undefined }> =>
        new Promise((resolve, reject) => {
          const headers = body ? { "content-type": "application/json" } : {};
          const call = requestHttp({ host: "127.0.0.1", port, method, path, headers }, (response) => {
            let text = "";
            response.on("data", (part) => (text += String(part)));
            response.on("end", () =>
              resolve({ status: response.statusCode ?? 0, text, location: response.headers.location }),
            );
          });
          call.on("error", reject);
          call.end(body && JSON.stringify(body));
        });
      const listed = await api("GET", "/api/requests/http?limit=1&brief=true");
      const [{ id }] = (JSON.parse(listed.text) as { requests: { id: string }[] }).requests as [{ id: string }];
      let step = 1;
      for (; ; step += 1) {
        const uri = `/${fault}/${step}`;
        serviceRelay.breakAt(step, fault);
        const { status, location } = await api("POST", "/api/requests/http", { id, uri });
        assert.equal(status, 204);
        // Either the replay is complete, or its connection is broken.
        const isOver = async (): Promise<boolean> =>
          serviceRelay.hasBroken || /"outcome":"(?:complete|cut)"/.test((await api("GET", String(location))).text);
        assert.ok(await eventually(isOver, Boolean));
        const { hasBroken } = serviceRelay;
        serviceRelay.breakAt(Infinity, fault);
        if (!hasBroken) break;
      }
      assert.ok(step > 2, `only ${step} steps`);
      for (let at = 1; at <= step; at += 1) {
        assert.ok(posted.filter((each) => each === `/${fault}/${at}`).length <= 1, `step ${at} was sent twice`);
      }
      await one.end("SIGKILL");
    });
  }
});
