import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../test/support/clock.ts";
import { Refusal } from "../lib/errors.ts";
import { silentLog } from "../lib/log.ts";
import type { BoundTunnel, ClientBind, ClientSession } from "../tunnel/client-hooks.ts";
import type { TunnelStatus } from "./tunnel.ts";
import { makeTunnels } from "./tunnels.ts";
import type { Kept } from "./tunnels.ts";
import { parseUpstream } from "./upstream.ts";

/** A session that answers each question for a tunnel with what `answer` gives or throws. */
function sessionOf(answer: (request: ClientBind) => string): ClientSession {
  return {
    bind: async (request: ClientBind, bound?: (tunnel: BoundTunnel) => void) => {
      const url = answer(request);
      const tunnel = { id: `tn_${url}`, url, hostname: "a.example", address: "", token: "proof" };
      bound?.(tunnel);
      return tunnel;
    },
  } as unknown as ClientSession;
}

function tunnelsNamed(names: readonly string[], retryFirst: boolean) {
  const clock = makeManualClock();
  const told: [name: string, state: TunnelStatus][] = [];
  const given = names.map((name) => ({
    name,
    upstream: parseUpstream("3000"),
    metadata: name,
    publish: { kind: "url", url: undefined } as const,
    status: (status: TunnelStatus) => told.push([name, status]),
  }));
  const all = makeTunnels(given, { clock, log: silentLog, random: () => 1, retryFirst });
  const kept: Kept = new Map();
  return {
    clock,
    told,
    over: all.over,
    join: () => all.join(kept),
    tunnels: all.join(kept),
    states: () => told.map(([name, { state }]) => `${name} ${state}`),
  };
}

/** What has been answered is known after this. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the tunnels of an agent", () => {
  it("the tunnels of an agent are tried again one by one, while the others stay open", async () => {
    const { clock, told, tunnels, states } = tunnelsNamed(["full", "web"], true);
    let isFull = true;
    const line = sessionOf(({ metadata = "" }) => {
      if (metadata === "full" && isFull) throw new Refusal("agent_limit");
      return metadata;
    });
    void tunnels.open(line);
    await settled();
    assert.deepEqual(states().toSorted(), ["full waiting", "web online"]);
    const [, waiting] = told.find(([name]) => name === "full") ?? [];
    assert.ok(waiting?.state === "waiting");
    clock.pass(waiting.pauseMs);
    await settled();
    isFull = false;
    clock.pass(waiting.pauseMs * 2);
    await settled();
    assert.deepEqual(states().slice(2), ["full waiting", "full online"]);
  });

  it("the tunnels of an agent bring back what they were given, and one that was not open ends alone", async () => {
    const { tunnels, join, states } = tunnelsNamed(["held", "web"], false);
    const asked: ClientBind[] = [];
    const line = sessionOf((request) => {
      asked.push(request);
      if (request.metadata === "held") throw new Refusal("agent_name_taken");
      return "web";
    });
    void tunnels.open(line);
    await settled();
    assert.deepEqual(states().toSorted(), ["held ended", "web online"]);
    tunnels.lost();
    void join().open(line);
    await settled();
    assert.deepEqual(
      asked.map(({ metadata, resume }) => [metadata, resume]),
      [
        ["held", undefined],
        ["web", undefined],
        ["web", { id: "tn_web", token: "proof" }],
      ],
    );
  });

  it("the tunnels of an agent are over when the last has ended, with its reason", async () => {
    const { tunnels, over } = tunnelsNamed(["one", "two"], false);
    void tunnels.open(
      sessionOf(({ metadata = "" }) => {
        if (metadata === "one") throw new Refusal("agent_denied");
        return metadata;
      }),
    );
    await settled();
    tunnels.stopped("tn_two", "the name belongs to another", "");
    assert.match((await over).message, /^the name belongs to another/);
  });

  it("the tunnels of an agent are not tried again in a session that is gone", async () => {
    const { clock, tunnels, states } = tunnelsNamed(["full"], true);
    void tunnels.open(
      sessionOf(() => {
        throw new Refusal("agent_limit");
      }),
    );
    await settled();
    tunnels.lost();
    clock.pass(60_000);
    await settled();
    assert.deepEqual(states(), ["full waiting"]);
    assert.equal(clock.pending, 0);
  });
});
