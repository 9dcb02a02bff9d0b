import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { afterEach, beforeEach, describe, it } from "node:test";
import { makeManualClock } from "../../test/support/clock.ts";
import { reachService, retryMs, watchService } from "./service-watch.ts";
import type { ServiceState, ServiceWatch } from "./service-watch.ts";
import { parseUpstream } from "./upstream.ts";

describe("the service watch", () => {
  let clock = makeManualClock();
  let port = 0;
  let server: Server | undefined;
  let watch: ServiceWatch | undefined;
  const listen = async (): Promise<void> => {
    server = createServer((socket) => socket.on("error", () => {}).resume()).listen(port, "127.0.0.1");
    await once(server, "listening");
    port = (server.address() as AddressInfo).port;
  };
  const close = async (): Promise<void> => {
    server?.close();
    if (server?.listening === false) await once(server, "close");
    server = undefined;
  };
  const upstream = () => parseUpstream(`127.0.0.1:${port}`);
  /** Records every change, and lets a test wait for it. */
  const start = () => {
    const changes: ServiceState[] = [];
    let told = Promise.withResolvers<void>();
    watch = watchService(upstream(), clock, (state) => {
      changes.push(state);
      told.resolve();
      told = Promise.withResolvers();
    });
    return { changes, next: () => told.promise };
  };

  beforeEach(async () => {
    clock = makeManualClock();
    port = 0;
    await listen();
  });
  afterEach(async () => {
    watch?.stop();
    await close();
  });

  it("the service watch reports at start that nothing listens, and later that the service is back, once each", async () => {
    await close();
    const { changes, next } = start();
    await next();
    assert.deepEqual(changes, [{ reachable: false, reason: "nothing listens there" }]);
    watch?.failed(new Error("again"));
    await listen();
    const back = next();
    clock.pass(retryMs);
    await back;
    assert.deepEqual(changes.slice(1), [{ reachable: true }]);
  });

  it("the service watch reports nothing about a healthy service until a connection fails", async () => {
    const connected = once(server as Server, "connection");
    const { changes, next } = start();
    await connected;
    await close();
    const gone = next();
    watch?.failed(Object.assign(new Error("x"), { code: "ECONNREFUSED" }));
    await gone;
    assert.deepEqual(changes, [{ reachable: false, reason: "nothing listens there" }]);
  });

  it("the service watch connects once at the start, and afterwards only while the service is away", async () => {
    let connections = 0;
    server?.on("connection", () => (connections += 1));
    const connected = once(server as Server, "connection");
    start();
    await connected;
    clock.pass(60 * retryMs);
    await reachService(upstream());
    assert.equal(connections, 2);
  });

  it("the service watch resolves for a reachable service, and rejects with the cause otherwise", async () => {
    await reachService(upstream());
    await close();
    await assert.rejects(reachService(upstream()), { code: "ECONNREFUSED" });
  });
});
