/** A connection that sends many requests at once does not keep the others waiting until all of them have run. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CompiledModule } from "../../src/traffic/module.ts";
import { denyStep } from "../../src/traffic/step.ts";
import { answering, ok, startFront } from "../support/front.ts";
import type { FrontOptions } from "../support/front.ts";
import { RawH2, types } from "../support/h2-frames.ts";
import { startH2Server } from "../support/h2-server.ts";

/** Requests that the busy client sends in one piece. */
const count = 40;
/** CPU time of each request, milliseconds. */
const costMs = 1;

/** Denies each request after some work, and notes its path. */
function costly(order: string[]): CompiledModule {
  return {
    request({ request }) {
      order.push(request.path);
      const end = performance.now() + costMs;
      while (performance.now() < end);
      return denyStep("test", "source_denied", "denied after some work");
    },
  };
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a.example.com\r\n\r\n`;
const paths = Array.from({ length: count }, (_, at) => `/${at}`);

function isBetween(order: readonly string[]): void {
  assert.deepEqual(
    order.filter((path) => path !== "/other"),
    paths,
    "each request once, in order",
  );
  assert.ok(order.indexOf("/other") > 0 && order.at(-1) !== "/other", order.join(" "));
}

describe("requests that a client sends at once", () => {
  it("D2: an HTTP/1.1 client that pipelines costly requests waits for the requests of others", async () => {
    const order: string[] = [];
    const options: FrontOptions = { modules: [costly(order)] };
    const front = await startFront(answering(ok("body")), options);
    try {
      const [busy, other] = [front.connect(), front.connect()];
      busy.send(paths.map(get).join("").replace(/\r\n$/, "Connection: close\r\n\r\n"));
      await busy.until(/HTTP\/1\.1 403 /);
      await other.send(get("/other")).until(/HTTP\/1\.1 403 /);
      await busy.untilEnd();
      isBetween(order);
    } finally {
      await front.stop();
    }
  });

  it("D2: an HTTP/2 client that opens costly streams waits for the requests of others", async () => {
    const order: string[] = [];
    const server = await startH2Server(undefined, { request: [costly(order)] });
    const [busy, other] = [await RawH2.open(server), await RawH2.open(server)];
    try {
      busy.socket.cork();
      for (const [at, path] of paths.entries()) busy.request(1 + 2 * at, busy.fields("GET", path));
      busy.socket.uncork();
      await busy.take(({ type }) => type === types.headers);
      other.request(1, other.fields("GET", "/other"));
      await other.take(({ type }) => type === types.headers);
      for (let at = 1; at < count; at += 1) await busy.take(({ type }) => type === types.headers);
      isBetween(order);
    } finally {
      busy.destroy();
      other.destroy();
      await server.stop();
    }
  });
});
