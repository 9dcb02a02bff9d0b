/**
 * Preloaded into a server (`--import`), which must run with `--expose-gc`: on SIGUSR2 every thread collects its
 * garbage and writes what is left to stderr, as `memory {"thread":…,"bytes":…}`.
 */
import { BroadcastChannel, isMainThread, threadName } from "node:worker_threads";

const channel = new BroadcastChannel("thread-memory");
channel.unref();
if (isMainThread) process.on("SIGUSR2", () => channel.postMessage("measure"));
else {
  channel.addEventListener("message", () => {
    const collect = (globalThis as { gc?: () => void }).gc;
    // The second finds what the first has only set free, such as what finalizers held.
    collect?.();
    setImmediate(() => {
      collect?.();
      const { heapUsed, external } = process.memoryUsage();
      process.stderr.write(`memory ${JSON.stringify({ thread: threadName, bytes: heapUsed + external })}\n`);
    });
  });
}
