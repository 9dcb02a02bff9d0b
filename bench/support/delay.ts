/** `node delay.ts LISTEN TARGET MS`: a relay that delays every byte by MS milliseconds in each direction. */
import { connect, createServer } from "node:net";
import type { Socket } from "node:net";

const [listen, target, delayMs] = process.argv.slice(2).map(Number) as [number, number, number];

createServer({ noDelay: true }, (inbound) => {
  const outbound = connect({ port: target, host: "127.0.0.1", noDelay: true });
  hold(inbound, outbound);
  hold(outbound, inbound);
}).listen(listen, "127.0.0.1");

/** Like a long line, it delays data but does not limit the amount in transit. */
function hold(from: Socket, to: Socket): void {
  from.on("data", (bytes) => setTimeout(() => to.writable && to.write(bytes), delayMs));
  from.on("end", () => setTimeout(() => to.end(), delayMs));
  from.on("error", () => to.destroy());
  from.on("close", () => setTimeout(() => to.destroy(), delayMs + 10));
}
