import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../test/support/clock.ts";
import { Refusal } from "../lib/errors.ts";
import { silentLog } from "../lib/log.ts";
import type { BoundTunnel, ClientBind, ClientSession } from "../tunnel/client-hooks.ts";
import type { TunnelStatus } from "./tunnel-options.ts";
import type { BoundTunnels } from "./session-tunnels.ts";
import { makeTunnels } from "./tunnel-set.ts";
import { parseUpstream } from "./upstream.ts";

/** A session that answers each tunnel request with the result of `answer`, or its exception. */
function sessionOf(answer: (request: ClientBind) => string, unbound?: string[]): ClientSession {
  return {
    edges: 1,
    unbind: async (id: string) => void unbound?.push(id),
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
  const tunnelNamed = (name: string) => ({
    name,
    upstream: parseUpstream("3000"),
    metadata: name,
    publish: { kind: "url", url: undefined } as const,
    status: (status: TunnelStatus) => told.push([name, status]),
  });
  const all = makeTunnels(names.map(tunnelNamed), { clock, log: silentLog, random: () => 1, retryFirst });
  const kept: BoundTunnels = new WeakMap();
  let aloneTold = 0;
  const join = () => all.join(kept, () => (aloneTold += 1));
  return {
    clock,
    told,
    over: all.over,
    add: (name: string) => all.add(tunnelNamed(name)),
    remove: all.remove,
    join,
    tunnels: join(),
    aloneTold: () => aloneTold,
    states: () => told.map(([name, { state }]) => `${name} ${state}`),
  };
}

/** Resolves when pending answers have been handled. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("an agent's tunnels", () => {
  it("an agent's tunnels are retried one by one while the others stay open", async () => {
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

  it("an agent's tunnels request their previous addresses, and a tunnel that never opened ends alone", async () => {
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

  it("an agent's tunnels end together with the reason of the last one", async () => {
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

  it("an agent's tunnels are not retried in a session that has ended", async () => {
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

  const byName = ({ metadata = "" }: ClientBind): string => metadata;

  it("a tunnel that is added opens in every present and later session", async () => {
    const { add, join, tunnels } = tunnelsNamed([], false);
    const asked: string[] = [];
    const line = (name: string): ClientSession =>
      sessionOf((request) => {
        asked.push(`${name} ${request.metadata} ${request.resume?.id ?? "new"}`);
        return byName(request);
      });
    const second = join();
    await Promise.all([tunnels.open(line("one")), second.open(line("two"))]);
    await add("late");
    await settled();
    tunnels.lost();
    await join().open(line("three"));
    assert.deepEqual(asked, ["one late new", "two late tn_late", "three late tn_late"]);
  });

  it("a tunnel that is added and refused ends immediately, and everything else continues", async () => {
    const { add, tunnels, over, states, clock } = tunnelsNamed([], true);
    await tunnels.open(
      sessionOf(() => {
        throw new Refusal("agent_limit");
      }),
    );
    await assert.rejects(add("late"), { name: "TunnelFailure", isOffline: false });
    assert.deepEqual(states(), ["late ended"]);
    assert.equal(clock.pending, 0);
    assert.equal(await Promise.race([over, settled()]), undefined);
  });

  it("a tunnel cannot be added without a session, or if the session is lost before the answer", async () => {
    const { add, join, tunnels, states } = tunnelsNamed([], true);
    await assert.rejects(add("early"), { isOffline: true });
    await tunnels.open(sessionOf(byName));
    tunnels.lost();
    await assert.rejects(add("between"), { isOffline: true });
    const next = join();
    const silent = { edges: 1, bind: () => new Promise(() => {}) } as unknown as ClientSession;
    await next.open(silent);
    const adding = add("cut");
    next.lost();
    await assert.rejects(adding, { name: "TunnelFailure" });
    assert.deepEqual(states(), ["early removed", "between removed", "cut ended"]);
  });

  it("a tunnel that is removed leaves every session, does not return, and can be added again", async () => {
    const { add, join, remove, tunnels, states, over } = tunnelsNamed(["web"], true);
    const unbound: string[] = [];
    const asked: (string | undefined)[] = [];
    const line = (): ClientSession =>
      sessionOf((request) => {
        asked.push(request.resume?.id);
        return byName(request);
      }, unbound);
    await Promise.all([tunnels.open(line()), join().open(line())]);
    assert.equal(await remove("web"), true);
    assert.deepEqual(unbound, ["tn_web", "tn_web"]);
    assert.equal(await remove("web"), false);
    tunnels.lost();
    asked.length = 0;
    await join().open(line());
    assert.deepEqual(asked, []);
    await add("web");
    assert.equal(asked[0], undefined);
    await settled();
    assert.deepEqual(states(), ["web online", "web online", "web removed", "web online", "web online"]);
    assert.equal(await Promise.race([over, settled()]), undefined);
  });

  it("a tunnel that is removed during its request is released after the answer", async () => {
    const { add, remove, tunnels } = tunnelsNamed([], true);
    const unbound: string[] = [];
    const answer = Promise.withResolvers<void>();
    const line = sessionOf(byName, unbound);
    const slow = {
      ...line,
      async bind(request: ClientBind, bound?: (tunnel: BoundTunnel) => void) {
        await answer.promise;
        return await line.bind(request, bound);
      },
    } as ClientSession;
    await tunnels.open(slow);
    const adding = add("web");
    await remove("web");
    await assert.rejects(adding, /the tunnel was removed/);
    answer.resolve();
    await settled();
    assert.deepEqual(unbound, ["tn_web"]);
  });

  for (const [edges, told, isTriedAgain] of [
    [1, 1, false],
    [2, 0, true],
  ] as const) {
    it(`a second session whose names are refused at a server of ${edges} edges is ${isTriedAgain ? "retried" : "told that it is not needed, and nothing is retried"}`, async () => {
      const { clock, tunnels, join, states, aloneTold } = tunnelsNamed(["web"], true);
      await tunnels.open(sessionOf(byName));
      const refusing = sessionOf(() => {
        throw new Refusal("agent_name_taken");
      });
      await join().open({ ...refusing, edges });
      assert.equal(aloneTold(), told);
      assert.equal(clock.pending > 0, isTriedAgain);
      assert.deepEqual(states(), ["web online"]);
    });
  }

  it("an agent's tunnels close a service inside the agent when the last of its tunnels is removed or ends", async () => {
    const closed: string[] = [];
    const serviceNamed = (name: string) => ({ serve() {}, close: async () => void closed.push(name) });
    const [shared, refused] = [serviceNamed("shared"), serviceNamed("refused")];
    const tunnelTo = (name: string, local: ReturnType<typeof serviceNamed>) => ({
      name,
      upstream: { ...parseUpstream("3000"), local },
      metadata: name,
      publish: { kind: "url", url: undefined } as const,
    });
    const all = makeTunnels([tunnelTo("one", shared), tunnelTo("two", shared), tunnelTo("bad", refused)], {
      clock: makeManualClock(),
      log: silentLog,
      random: () => 1,
      retryFirst: false,
    });
    const line = sessionOf(({ metadata = "" }) => {
      if (metadata === "bad") throw new Refusal("agent_name_taken");
      return metadata;
    });
    void all.join(new WeakMap(), () => {}).open(line);
    await settled();
    assert.deepEqual(closed, ["refused"]);
    assert.ok(await all.remove("one"));
    assert.deepEqual(closed, ["refused"]);
    assert.ok(await all.remove("two"));
    assert.deepEqual(closed, ["refused", "shared"]);
  });
});
