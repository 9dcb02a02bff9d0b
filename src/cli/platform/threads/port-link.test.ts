import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MessageChannel, receiveMessageOnPort } from "node:worker_threads";
import { controlPlanePortLink, edgePortLink } from "./port-link.ts";

describe("the link between two threads", () => {
  it("the link between two threads passes messages of one turn together, before any response is sent", async () => {
    const { port1, port2 } = new MessageChannel();
    const link = controlPlanePortLink();
    link.attach(port1);
    link.send({ type: "metrics_request", call: 1 });
    link.send({ type: "metrics_request", call: 2 });
    // The response to the reported write is sent no earlier than this.
    await Promise.resolve();
    const passed = receiveMessageOnPort(port2)?.message as readonly string[] | undefined;
    assert.deepEqual(
      passed?.map((text) => (JSON.parse(text) as { readonly call: number }).call),
      [1, 2],
    );
    port1.close();
  });

  it("the link between two threads passes a long message before the next is written, in order", () => {
    const { port1, port2 } = new MessageChannel();
    const link = controlPlanePortLink();
    link.attach(port1);
    const passed = (): readonly string[] =>
      (receiveMessageOnPort(port2)?.message as readonly string[] | undefined)?.map(
        (text) => (JSON.parse(text) as { readonly type: string }).type,
      ) ?? [];
    const doc = { text: "a".repeat(2_000_000) };
    const object = { kind: "ip_policy", id: "ipp_1", account_id: "ac_1", revision: 1, doc };
    link.send({ type: "metrics_request", call: 1 });
    assert.deepEqual(passed(), []);
    link.send({ type: "snapshot", revision: 1, objects: [object], last: true });
    assert.deepEqual(passed(), ["metrics_request", "snapshot"]);
    port1.close();
  });

  it("the link between two threads transfers the bytes of packed objects in order with other messages", () => {
    const { port1, port2 } = new MessageChannel();
    const link = controlPlanePortLink();
    link.attach(port1);
    const objects = new Uint8Array([1, 2, 3]);
    const packed = { kind: "session", commons: [], objects };
    link.send({ type: "metrics_request", call: 1 });
    link.send({ type: "snapshot", revision: 7, objects: [], packed, last: false });
    link.send({ type: "metrics_request", call: 2 });
    const received: unknown[] = [];
    const edge = edgePortLink();
    return new Promise<void>((resolve) => {
      edge.receive((message) => {
        received.push(message);
        if (received.length < 3) return;
        assert.deepEqual(received, [
          { type: "metrics_request", call: 1 },
          {
            type: "snapshot",
            revision: 7,
            objects: [],
            packed: { ...packed, objects: new Uint8Array([1, 2, 3]) },
            last: false,
          },
          { type: "metrics_request", call: 2 },
        ]);
        assert.equal(objects.length, 0);
        port1.close();
        resolve();
      });
      edge.attach(port2);
    });
  });
});
