/**
 * Preloaded into a server (`--import`) that runs with `--expose-gc`. On SIGUSR2 every thread collects its garbage and
 * writes the remaining heap to stderr, as `memory {"thread":…,"bytes":…}`.
 */
import { BroadcastChannel, isMainThread, threadName } from "node:worker_threads";

const channel = new BroadcastChannel("thread-memory");
channel.unref();
if (isMainThread) process.on("SIGUSR2", () => channel.postMessage("measure"));
else {
  channel.addEventListener("message", () => {
    const collect = (globalThis as { gc?: () => void }).gc;
    // The second collection finds objects that the first one released, for example from finalizers.
    collect?.();
    setImmediate(() => {
      collect?.();
      const { heapUsed, external } = process.memoryUsage();
      process.stderr.write(`memory ${JSON.stringify({ thread: threadName, bytes: heapUsed + external })}\n`);
    });
  });
}
