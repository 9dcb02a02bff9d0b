/** `node delay.ts LISTEN TARGET MS`: a relay that holds every byte for MS milliseconds in each direction. */
import { connect, createServer } from "node:net";
import type { Socket } from "node:net";

const [listen, target, delayMs] = process.argv.slice(2).map(Number) as [number, number, number];

createServer({ noDelay: true }, (inbound) => {
  const outbound = connect({ port: target, host: "127.0.0.1", noDelay: true });
  hold(inbound, outbound);
  hold(outbound, inbound);
}).listen(listen, "127.0.0.1");

/** As a long line would: what is under way is not limited here, only late. */
function hold(from: Socket, to: Socket): void {
  from.on("data", (bytes) => setTimeout(() => to.writable && to.write(bytes), delayMs));
  from.on("end", () => setTimeout(() => to.end(), delayMs));
  from.on("error", () => to.destroy());
  from.on("close", () => setTimeout(() => to.destroy(), delayMs + 10));
}
