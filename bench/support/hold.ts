/** `node hold.ts PORT COUNT`: keeps every connection open, and prints `held` when there are COUNT of them. */
import { createServer } from "node:net";

const [port, count] = process.argv.slice(2).map(Number) as [number, number];
let held = 0;

createServer((socket) => {
  socket.on("error", () => {});
  held += 1;
  if (held === count) process.stdout.write("held\n");
  socket.resume();
}).listen({ port, host: "127.0.0.1", backlog: 4096 });
