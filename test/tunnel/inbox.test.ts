/** The inbox of an agent by the agent protocol: with the test's own register, and with an edge. */
import assert from "node:assert/strict";
import { after, it } from "node:test";
import { connectServer } from "../../src/agent/connect.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { sendInboxQuestion } from "../../src/tunnel/client-inbox.ts";
import { makeAgentInboxes } from "../../src/edge/agents/agent-inboxes.ts";
import { makeManualClock } from "../support/clock.ts";
import { connectRaw, question } from "../support/raw-agent.ts";
import { makeAuthority, startTunnelServer } from "../support/tunnel-server.ts";

const authority = await makeAuthority();
const server = await startTunnelServer({ authority });
after(() => server.stop());

it("a connection with a question about an inbox carries no session beside it", async () => {
  for (const second of [0, 14, 15]) {
    const agent = await connectRaw(server);
    agent.write(question(3, 15, { Token: "x", Verb: "open" }), question(5, second, { Secret: "x" }));
    await agent.closed;
  }
});

it("the server answers an unreadable question about an inbox with the reason, and asks nothing of the edge", async () => {
  const ask = async (verb: "open" | "waiting", secret: string): Promise<string> => {
    const address = { host: "localhost", port: server.port };
    const socket = await connectServer(address, authority.ca.certificatePem, new AbortController().signal);
    const webhooks = [{ path: "/", provider: "github", secret }];
    const asked = { token: "right-token", verb, url: "", name: "", webhooks };
    return await sendInboxQuestion(socket, asked, systemClock, 5_000).then(
      () => "answered",
      (error: unknown) => (error as { readonly code: string }).code,
    );
  };
  const before = server.register.events.length;
  assert.equal(await ask("close" as "open", "x"), errorCode("agent_request_invalid"));
  assert.equal(await ask("open", "x".repeat(5_000)), errorCode("agent_request_invalid"));
  assert.equal(server.register.events.length, before);
  assert.equal(await ask("waiting", "x"), errorCode("agent_inbox_unavailable"));
  assert.equal(server.register.events.at(-1), "inbox waiting");
});

it("S9: the edge bounds the questions about inboxes that wait for the control plane, and ends each after a while", async () => {
  const clock = makeManualClock();
  const grant = { accountId: "ac_1", credentialId: "cr_1", tokenHash: Buffer.alloc(32), expiresAtMs: undefined };
  const acl = { allowsHost: (host: string) => host !== "denied.example.com", allowsLabel: () => false };
  let reports = 0;
  const inboxes = makeAgentInboxes({
    clock,
    domain: "t.example.com",
    advertisedHttpsPort: () => 443,
    table: { restriction: () => undefined } as never,
    credentials: { authenticate: () => ({ ...grant, acl }) },
    report: () => void (reports += 1),
  });
  const request = { token: "x", verb: "open", port: undefined, name: "x", webhooks: [], ip: "192.0.2.1" } as const;
  const reasonOf = (hostname: string) =>
    inboxes.ask({ ...request, hostname }).then(
      () => "answered",
      (error: unknown) => (error as { readonly reason: string }).reason,
    );
  assert.equal(await reasonOf("denied.example.com"), "agent_denied");
  assert.equal(await reasonOf("no host"), "agent_request_invalid");
  assert.equal(reports, 0);
  const waiting = Array.from({ length: 64 }, () => reasonOf("a.example.com"));
  assert.equal(await reasonOf("a.example.com"), "agent_inbox_unavailable");
  assert.equal(reports, 64);
  clock.pass(8_000);
  assert.deepEqual(new Set(await Promise.all(waiting)), new Set(["agent_inbox_unavailable"]));
});
