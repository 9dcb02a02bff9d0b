/**
 * `node idle-tunnels.ts PORT CA_FILE COUNT`: opens COUNT agent sessions with one backend tunnel each, then stays idle.
 */
import { readFileSync } from "node:fs";
import { connectServer } from "../../src/agent/connect.ts";
import { connectSession } from "../../src/tunnel/connect-session.ts";
import { sessionOptions } from "../../test/support/agents.ts";

const [port, caFile, count] = process.argv.slice(2) as [string, string, string];
const ca = readFileSync(caFile, "utf8");
const never = new AbortController().signal;

let next = 0;
await Promise.all(
  Array.from({ length: 8 }, async () => {
    while (next < Number(count)) {
      const index = next++;
      const socket = await connectServer({ host: "localhost", port: Number(port) }, ca, never);
      const session = await connectSession(socket, sessionOptions(process.env["POSTERN_AUTHTOKEN"] as string), {
        proxied: (_tunnel, _header, stream) => stream.abort(),
        command: async () => {},
        stopped() {},
        closed(error) {
          process.stderr.write(`session ${index} closed: ${error?.message}\n`);
          process.exit(1);
        },
      });
      await session.startLabelled({ labels: { bench: String(index) }, forwardsTo: "nothing" });
    }
  }),
);
process.stdout.write("bound\n");
