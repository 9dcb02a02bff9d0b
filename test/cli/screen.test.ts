/** The agent's screen on a real terminal. */
import assert from "node:assert/strict";
import { writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import type { IncomingMessage } from "node:http";
import { once } from "node:events";
import { Agent, request as requestHttps } from "node:https";
import { setTimeout } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { request as requestHttp } from "../../src/lib/http.ts";
import { root } from "../support/command.ts";
import { callGrpc, startGrpcService } from "../support/grpc-service.ts";
import { json } from "../support/inspected-agent.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { startTmux } from "../support/tmux.ts";
import { skipWithout } from "../support/programs.ts";
import type { Tmux } from "../support/tmux.ts";

describe("the screen of an agent", { timeout: 120_000, skip: skipWithout("tmux") }, () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-screen-"));
  let platform: TestPlatform;
  let service: HttpService;
  let terminal: Tmux;
  let url: string;
  before(async () => {
    platform = await startPlatform({ drainMs: 50 });
    service = await startHttpService((request, response) => {
      response.statusCode = Number(request.url?.slice(1)) || 200;
      response.end("seen");
    });
    writeFileSync(join(directory, "ca.pem"), platform.caPem);
  });
  after(async () => {
    await platform.stop();
    await service.stop();
    rmSync(directory, { recursive: true });
  });
  beforeEach(async () => {
    const postern = `${process.execPath} ${root}bin/postern.js http ${service.port} --url https://screen.localhost --inspector 0`;
    terminal = await startTmux(100, 24, {
      POSTERN_AUTHTOKEN: platform.authtoken,
      POSTERN_SERVER: `127.0.0.1:${platform.agentPort}`,
      POSTERN_CA: join(directory, "ca.pem"),
      RUN: `${postern}; echo "ended with $?"`,
    });
    url = `https://screen.localhost:${platform.httpsPort}`;
  });
  afterEach(() => terminal.stop());

  const online = (seen: string): boolean => /online.*to the server/.test(stripVTControlCharacters(seen));
  /** Runs the agent as a person does, and returns the earlier state of the terminal. */
  async function run(): Promise<string> {
    await terminal.type("stty -g");
    const state = /^[0-9a-f:]{20,}$/m;
    const before = state.exec(await terminal.until((seen) => state.test(seen)))?.[0] ?? "";
    await terminal.type('clear; eval "$RUN"');
    await terminal.until(online);
    return before;
  }
  const ended = async (): Promise<string> => await terminal.until((seen) => /ended with \d+/.test(seen));
  async function isAsBefore(before: string): Promise<void> {
    await terminal.type("clear; stty -g; echo here");
    const seen = await terminal.until((text) => /^here$/m.test(text));
    assert.ok(seen.includes(before), seen);
  }

  /**
   * Publishes an HTTP/2 service without storing requests.
   * @param plain the screen, which has the inspector's address
   */
  async function showsHttp2(plain: string): Promise<void> {
    const { addr, stop } = await startGrpcService();
    const port = Number(/^Inspector +http:\/\/127\.0\.0\.1:(\d+)$/m.exec(plain)?.[1]);
    const asks = { name: "rpc", proto: "http", addr, hostname: "rpc.localhost", inspect: false };
    const sent = requestHttp({ host: "127.0.0.1", port, path: "/api/tunnels", method: "POST", headers: json });
    sent.end(JSON.stringify(asks));
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    assert.equal(answer.resume().statusCode, 201);
    await callGrpc(platform, `https://rpc.localhost:${platform.httpsPort}`, Buffer.from("one"));
    const seen = await terminal.until((text) => text.includes("/shop.Orders/Get"));
    assert.match(stripVTControlCharacters(seen), /^Requests +4 total, /m);
    stop();
  }

  it("the screen of an agent shows status, tunnels, inspector, counts, and the last requests in colours, including HTTP/2", async () => {
    await run();
    for (const path of ["/200", "/404", "/500"]) await platform.request(`${url}${path}`);
    const seen = await terminal.until((text) => text.includes("/500"));
    const plain = stripVTControlCharacters(seen);
    assert.match(plain, /^Postern \(press q or Ctrl\+C to stop\)/);
    assert.match(plain, /^Status +online, (?:<1|\d+) ms to the server$/m);
    assert.ok(plain.includes(`${url} → http://localhost:${service.port}`), plain);
    assert.match(plain, /^Inspector +http:\/\/127\.0\.0\.1:\d+$/m);
    assert.match(plain, /^Connections +\d now, \d total, \d+\.\d\/s .*p50 .*, p90 .*$/m);
    assert.match(plain, /^Requests +3 total, \d+\.\d\/s .*p50 (?:<1|\d+) ms, p90 (?:<1|\d+) ms$/m);
    assert.match(plain, /GET +\/500.*\n.*GET +\/404.*\n.*GET +\/200/);
    for (const [status, colour] of [
      [200, 32],
      [404, 33],
      [500, 31],
    ]) {
      assert.ok(
        seen.includes(`\u001B[${colour}m${status}`),
        `${status} is not in colour ${colour}: ${JSON.stringify(seen)}`,
      );
    }
    await showsHttp2(plain);
    await terminal.resize(60, 12);
    await platform.request(`${url}/201`);
    const small = stripVTControlCharacters(await terminal.until((text) => text.includes("/201")));
    assert.equal(small.match(/^Status/gm)?.length, 1);
    assert.equal(small.match(/^Postern/gm)?.length, 1);
  });

  it("the screen of an agent under 200 requests a second stays intact, and counts every request", async () => {
    await run();
    const agent = new Agent({ keepAlive: true, maxSockets: 20, ca: platform.caPem, servername: "screen.localhost" });
    const ask = (path: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const options = { agent, host: "127.0.0.1", port: platform.httpsPort, path };
        const sent = requestHttps({ ...options, headers: { host: new URL(url).host } }, (response) => {
          response.resume().once("end", () => resolve(response.statusCode ?? 0));
        });
        sent.once("error", reject).end();
      });
    const asked: Promise<number>[] = [];
    for (let tick = 0; tick < 40; tick += 1) {
      for (let each = 0; each < 10; each += 1) asked.push(ask("/200"));
      await setTimeout(50);
    }
    assert.ok((await Promise.all(asked)).every((status) => status === 200));
    await ask("/404");
    const plain = stripVTControlCharacters(
      await terminal.until((text) => /^Requests +401 total/m.test(stripVTControlCharacters(text))),
    );
    agent.destroy();
    assert.match(plain, /^Requests +401 total, \d+\.\d\/s .*p50 (?:<1|\d+) ms, p90 (?:<1|\d+) ms$/m);
    const lines = plain.trimEnd().split("\n");
    assert.match(lines[0] ?? "", /^Postern \(press q or Ctrl\+C to stop\)/);
    for (const label of ["Status", "Server", "Forwarding", "Inspector", "Connections", "Requests"]) {
      assert.equal(lines.filter((one) => one.startsWith(`${label} `)).length, 1, plain);
    }
    const requests = lines.filter((one) => /GET +\/\d{3}/.test(one));
    assert.deepEqual([requests.length, requests[0]?.includes("/404")], [10, true], plain);
  });

  for (const [key, times, code] of [
    ["q", 1, 0],
    ["C-c", 1, 130],
    ["C-c", 2, 130],
    ["q", 2, 0],
  ] as const) {
    it(`the screen of an agent ends by ${key}, ${times === 1 ? "once" : "twice in a row"}, with ${code}, and restores the terminal`, async () => {
      const before = await run();
      await terminal.press(...Array.from({ length: times }, () => key));
      const seen = stripVTControlCharacters(await ended());
      assert.match(seen, new RegExp(`ended with ${code}$`, "m"));
      assert.doesNotMatch(seen, /Error|at .*\.ts:/);
      await isAsBefore(before);
    });
  }

  it("the screen of an agent restores the terminal while suspended, and appears again afterwards", async () => {
    const before = await run();
    await terminal.press("C-z");
    await terminal.until((seen) => /Stopped|Suspended/.test(seen));
    await isAsBefore(before);
    await terminal.type("clear");
    await terminal.until((seen) => !online(seen));
    await terminal.type('fg; echo "back in $((1 + 1))"');
    await terminal.until(online);
    await terminal.press("q");
    // Keys typed before the shell has the terminal again go to the agent, or are lost.
    await terminal.until((seen) => seen.includes("back in 2"));
    await isAsBefore(before);
  });

  it("postern login asks for a token on a terminal, does not display it, and stores it", async () => {
    const login = `env -u POSTERN_AUTHTOKEN ${process.execPath} ${root}bin/postern.js login`;
    await terminal.type(`clear; ${login} $POSTERN_SERVER --ca $POSTERN_CA; echo "ended with $?"`);
    await terminal.until((seen) => seen.includes("not shown"));
    // A typing error, corrected.
    await terminal.press("x", "BSpace");
    await terminal.type(platform.authtoken);
    const seen = await ended();
    assert.match(seen, /logged in to 127\.0\.0\.1:\d+/);
    assert.match(seen, /ended with 0/);
    assert.ok(!seen.includes(platform.authtoken), seen);
    await terminal.type(`clear; ${login} $POSTERN_SERVER; echo "ended with $?"`);
    await terminal.until((text) => text.includes("not shown"));
    // The shell discards the input after an interrupted command.
    await terminal.press("C-c");
    await terminal.type('echo "left with $?"');
    await terminal.until((text) => text.includes("left with 130"));
  });

  it("an agent in the background does not wait for the terminal's keys", async () => {
    await terminal.type('set -m; clear; eval "$RUN" &');
    await terminal.until(online);
    await terminal.type("echo typed-$((1 + 1))");
    await terminal.until((seen) => seen.includes("typed-2"));
    assert.doesNotMatch(await terminal.seen(), /Stopped/);
    await terminal.type("kill %1");
  });
});
