/**
 * Preloaded into a server (`--import`). A signal to the process then kills one of its threads or makes it hang. SIGUSR2
 * ends the edge, or the first of several edges. SIGHUP throws an uncaught error in the control plane, and SIGWINCH
 * throws one in the edge. SIGURG makes the edge run forever, and SIGIO the control plane.
 */
import { BroadcastChannel, isMainThread, threadName } from "node:worker_threads";

type Fate = "exit" | "throw" | "hang";
interface Order {
  readonly thread: string;
  readonly fate: Fate;
}

const channel = new BroadcastChannel("mortal-threads");
channel.unref();
const orders = {
  SIGUSR2: { thread: "edge", fate: "exit" },
  SIGHUP: { thread: "control plane", fate: "throw" },
  SIGWINCH: { thread: "edge", fate: "throw" },
  SIGURG: { thread: "edge", fate: "hang" },
  SIGIO: { thread: "control plane", fate: "hang" },
} as const satisfies Partial<Record<NodeJS.Signals, Order>>;

if (isMainThread) {
  for (const [signal, order] of Object.entries(orders)) process.on(signal, () => channel.postMessage(order));
} else {
  channel.addEventListener("message", (event) => {
    const { thread, fate } = (event as { data: Order }).data;
    if (thread === threadName?.replace(/ 1$/, "")) setImmediate(meet, fate);
  });
}

function meet(fate: Fate): void {
  const message = `the ${threadName} was told to die`;
  if (fate === "hang") hangForEver();
  if (fate === "throw") throw new Error(message);
  process.stderr.write(`${message}\n`, () => process.exit(1));
}

function hangForEver(): never {
  for (let turns = 0; ; turns += 1) if (turns < 0) throw new Error("it never ends");
}
