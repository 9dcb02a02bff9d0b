import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MessageChannel, receiveMessageOnPort } from "node:worker_threads";
import { controlPlanePortLink } from "./port-link.ts";

describe("the link between two threads", () => {
  it("the link between two threads passes on what was said at once in one piece, before anybody else is answered", async () => {
    const { port1, port2 } = new MessageChannel();
    const link = controlPlanePortLink();
    link.attach(port1);
    link.send({ type: "metrics_request", call: 1 });
    link.send({ type: "metrics_request", call: 2 });
    // An answer to the write that was told of is written no sooner than this.
    await Promise.resolve();
    const passed = receiveMessageOnPort(port2)?.message as readonly string[] | undefined;
    assert.deepEqual(
      passed?.map((text) => (JSON.parse(text) as { readonly call: number }).call),
      [1, 2],
    );
    port1.close();
  });
});
