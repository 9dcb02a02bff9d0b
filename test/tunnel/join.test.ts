/** Joining by the agent protocol, with the test's own register. */
import assert from "node:assert/strict";
import { after, it } from "node:test";
import { connectServer } from "../../src/agent/connect.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { sendJoin } from "../../src/tunnel/client-join.ts";
import { connectRaw, question } from "../support/raw-agent.ts";
import { makeAuthority, startTunnelServer } from "../support/tunnel-server.ts";

const authority = await makeAuthority();
const server = await startTunnelServer({ authority, limits: { maxWrongTokens: 3 } });
after(() => server.stop());

it("a connection joins or authenticates, once", async () => {
  for (const [first, second] of [
    [14, 0],
    [0, 14],
    [14, 14],
  ] as const) {
    const agent = await connectRaw(server);
    agent.write(question(3, first, { Secret: "x" }), question(5, second, { Secret: "x" }));
    await agent.closed;
  }
});

it("G14: wrong codes of an address are limited, and its connections are then closed", async () => {
  const address = { host: "localhost", port: server.port };
  const attempt = async (): Promise<string> => {
    try {
      const socket = await connectServer(address, authority.ca.certificatePem, new AbortController().signal);
      await sendJoin(socket, { secret: Buffer.alloc(20), name: "x" }, systemClock, 5_000);
      return "joined";
    } catch (error) {
      return (error as { code?: string }).code ?? (error as Error).message;
    }
  };
  const answers: string[] = [];
  for (let at = 0; at < 8; at += 1) answers.push(await attempt());
  const unknown = errorCode("agent_code_unknown");
  assert.ok(answers.filter((one) => one === unknown).length <= 3, answers.join());
  assert.ok(!answers.slice(3).includes(unknown), answers.join());
  assert.ok(server.register.events.filter((event) => event === "join x").length <= 3);
});
