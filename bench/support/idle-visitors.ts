/** `node idle-visitors.ts PORT COUNT`: opens COUNT TLS connections with one answered request each, then stays idle. */
import { once } from "node:events";
import { connect } from "node:tls";
import { many } from "./api-client.ts";

const [port, count] = process.argv.slice(2).map(Number) as [number, number];

await many(count, async (index) => {
  const socket = connect({ host: "127.0.0.1", port, servername: "bench.localhost", rejectUnauthorized: false });
  await once(socket, "secureConnect");
  socket.write(`GET / HTTP/1.1\r\nhost: bench.localhost:${port}\r\n\r\n`);
  await once(socket, "data");
  socket.resume();
  socket.once("close", () => {
    process.stderr.write(`connection ${index} was closed\n`);
    process.exit(1);
  });
});
process.stdout.write("held\n");
