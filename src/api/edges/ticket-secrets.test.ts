import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { silentLog } from "../../lib/log.ts";
import type { Membership } from "../../storage/cluster/membership.ts";
import type { EdgeLine } from "./edges.ts";
import { keepTicketSecrets } from "./ticket-secrets.ts";

const hour = 60 * 60 * 1000;

function start(node?: Pick<Membership, "ticketSecret">) {
  const clock = makeManualClock();
  const told: string[][] = [[], []];
  const lines = told.map((given, at): EdgeLine => ({
    edgeId: `edge_${at}`,
    send: (message) => void (message.type === "ticket_secret" && given.push(message.secret)),
  }));
  const secrets = keepTicketSecrets({ edges: { joined: () => lines }, node, clock, log: silentLog });
  const hello = (at: number): void =>
    secrets.receive({ type: "hello", edgeId: `edge_${at}` } as never, lines[at] as EdgeLine);
  return { clock, told, secrets, hello };
}

describe("the secret of session tickets", () => {
  it("K6: the secret of session tickets of one server is the same at all edges, also at a restarted one, for eight hours", async () => {
    const { clock, told, secrets, hello } = start();
    await turn();
    hello(1);
    const [one = [], other = []] = told;
    assert.equal(Buffer.from(one[0] ?? "", "base64").length, 32);
    assert.deepEqual(other, [one[0], one[0]]);
    clock.pass(8 * hour);
    await turn();
    assert.equal(one.length, 2);
    assert.notEqual(one[1], one[0]);
    assert.equal(other.at(-1), one[1]);
    secrets.stop();
    clock.pass(8 * hour);
    await turn();
    assert.equal(one.length, 2);
  });

  it("K6: the secret of session tickets of several nodes is requested again after a failure, and at the end of its period", async () => {
    const answers = [new Error("no database"), { secret: "b25l", leftMs: 1_000 }, { secret: "dHdv", leftMs: hour }];
    const ticketSecret: Membership["ticketSecret"] = async () => {
      const answer = answers.shift();
      if (answer === undefined || answer instanceof Error) throw answer;
      return answer;
    };
    const { clock, told, secrets } = start({ ticketSecret });
    await turn();
    assert.deepEqual(told[0], []);
    clock.pass(10_000);
    await turn();
    clock.pass(1_000);
    await turn();
    assert.deepEqual(told[0], ["b25l", "dHdv"]);
    secrets.stop();
  });
});
