/** A separate process for descriptors.test.ts: a listener that echoes, in a process without free file descriptors. */
import { closeSync, openSync } from "node:fs";
import { startListener } from "../../src/edge/listeners/listener.ts";
import { defaultListenerLimits } from "../../src/edge/listeners/listener-limits.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import { makeMetrics } from "../../src/lib/metrics.ts";

const listener = await startListener({
  name: "test",
  at: { host: "127.0.0.1", port: 0 },
  ready: Promise.resolve(),
  limits: defaultListenerLimits,
  clock: systemClock,
  log: silentLog,
  metrics: makeMetrics(),
  accept: ({ socket }) => void socket.pipe(socket),
});
const held: number[] = [];
const send = (message: object): void => void process.send?.(message);
process.on("message", (message: { do: "exhaust"; leave: number } | { do: "release" } | { do: "measure" }) => {
  if (message.do === "exhaust") {
    try {
      for (;;) held.push(openSync("/dev/null", "r"));
    } catch {
      for (const file of held.splice(0, message.leave)) closeSync(file);
    }
    send({ held: held.length });
  } else if (message.do === "release") {
    for (const file of held.splice(0)) closeSync(file);
    send({ held: 0 });
  } else {
    const before = performance.eventLoopUtilization();
    setTimeout(() => send({ utilization: performance.eventLoopUtilization(before).utilization }), 200);
  }
});
send({ port: listener.port });
