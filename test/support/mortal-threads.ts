/**
 * Preloaded into a server (`--import`): a signal to the process then kills one of its threads as a fault of the
 * program would, by an error that nobody catches. SIGUSR2: the edge, or the first of several; SIGHUP: the control plane.
 */
import { BroadcastChannel, isMainThread, threadName } from "node:worker_threads";

const channel = new BroadcastChannel("mortal-threads");
channel.unref();
if (isMainThread) {
  process.on("SIGUSR2", () => channel.postMessage("edge"));
  process.on("SIGHUP", () => channel.postMessage("control plane"));
} else {
  channel.addEventListener("message", (event) => {
    if ((event as { data: unknown }).data !== threadName?.replace(/ 1$/, "")) return;
    setImmediate(() => {
      throw new Error(`the ${threadName} was told to die`);
    });
  });
}
