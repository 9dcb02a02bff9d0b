import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../test/support/random.ts";
import { AgentRows } from "./agent-rows.ts";
import type { SessionParts } from "./agent-rows.ts";

interface Session extends SessionParts {
  readonly os: string;
}

interface Held {
  readonly id: string;
  readonly name: string;
  readonly startedAt: number;
  readonly session: number;
  json: string;
}

const sessionOf = (n: number): Session => ({
  id: `ts_s${n}`,
  accountId: `ac_${n % 3}`,
  credentialId: `cr_${n % 5}`,
  ...(n % 2 === 0 && { agentId: `agent "${n}"` }),
  ip: `10.0.0.${n % 250}`,
  ...(n % 7 !== 0 && { startedMs: 1_700_000_000_000 + n }),
  os: "linux",
});

describe("rows of agents", () => {
  it("rows of agents return every open session and tunnel by id, part, name and host", () => {
    const random = seededRandom(5);
    const rows = new AgentRows<Session>();
    const sessions = Array.from({ length: 40 }, (_, n) => rows.openSession(sessionOf(n), n % 4));
    const held = new Map<string, Held & { readonly number: number }>();
    for (let step = 0; step < 10_000; step += 1) {
      const id = `tn_t${random.below(800)}`;
      const known = held.get(id);
      if (known && random() < 0.7) {
        rows.closeTunnel(known.number);
        held.delete(id);
      } else if (known) {
        known.json = JSON.stringify({ ...JSON.parse(known.json), changed: step });
        rows.changeTunnel(known.number, known.json);
      } else {
        const host = `${random.pick(["a", `name-${random.below(300)}`])}.example.com`;
        const name = random.pick(["", host, `http://${host}`, ":8443", `${host.split(".")[0]}.internal#ac_1`]);
        const [startedAt, session] = [1_700_000_000_000 + step, random.below(sessions.length)];
        const json = JSON.stringify({ id, endpoint: `ep_${id.slice(3)}`, name, startedAt, session: `ts_s${session}` });
        const number = rows.openTunnel({ id, name, startedAt }, sessions[session] as number, json);
        held.set(id, { id, name, startedAt, session, json, number });
      }
    }
    assert.equal(rows.tunnelCount, held.size);
    assert.equal(rows.sessionCount, sessions.length);
    assert.deepEqual(new Set(rows.tunnelNumbers()), new Set(Array.from(held.values(), ({ number }) => number)));
    for (const { id, name, session, json, number } of held.values()) {
      assert.deepEqual([rows.tunnelNumber(id), rows.tunnelOfPart(`ep_${id.slice(3)}`)], [number, number]);
      assert.deepEqual([rows.tunnelId(number), rows.nameOf(number), rows.json(number)], [id, name, json]);
      assert.equal(rows.sessionOf(number), sessions[session]);
      if (name === "") continue;
      const alike = [...held.values()].filter((one) => one.name === name);
      assert.deepEqual(new Set(rows.findNamed(name)), new Set(alike.map((one) => one.number)));
      const host = name.replace("http://", "");
      const beside = [...held.values()].filter((one) => one.name.replace("http://", "") === host);
      assert.equal(rows.findAtHost(host).length, beside.length);
    }
    assert.deepEqual(
      [rows.tunnelNumber("tn_nobody"), rows.tunnelNumber("ep_t1"), rows.findNamed("b.example.com")],
      [undefined, undefined, []],
    );
    for (const [n, number] of sessions.entries()) {
      assert.deepEqual(rows.session(number), sessionOf(n));
      assert.deepEqual(
        [rows.sessionId(number), rows.accountOf(number), rows.placeOf(number)],
        [`ts_s${n}`, `ac_${n % 3}`, n % 4],
      );
    }
  });

  it("rows of agents list the tunnels of a name in order of arrival", () => {
    const rows = new AgentRows<Session>();
    const session = rows.openSession(sessionOf(1), 0);
    const open = (n: number): number =>
      rows.openTunnel({ id: `tn_${n}`, name: "a.example.com", startedAt: n }, session, "{}");
    const numbers = [1, 2, 3, 4].map(open);
    rows.closeTunnel(numbers.splice(1, 1)[0] as number);
    assert.deepEqual(rows.findNamed("a.example.com"), numbers);
    numbers.push(open(5));
    assert.deepEqual(rows.findNamed("a.example.com"), numbers);
  });

  it("rows of agents distinguish sessions with the same id at two places, and store each as long as it has tunnels", () => {
    const rows = new AgentRows<Session>();
    const before = rows.openSession(sessionOf(1), 1);
    const tunnel = rows.openTunnel({ id: "tn_1", name: "", startedAt: 1 }, before, "{}");
    const moved = rows.openSession({ ...sessionOf(1), os: "bsd" }, 2);
    assert.deepEqual([rows.sessionNumber("ts_s1"), rows.sessionNumber("ts_s1", 1)], [moved, before]);
    rows.closeSession(before);
    assert.deepEqual([rows.sessionNumber("ts_s1"), rows.sessionNumber("ts_s1", 1)], [moved, undefined]);
    assert.deepEqual([...rows.sessionNumbers()], [moved]);
    assert.equal(rows.session(rows.sessionOf(tunnel)).os, "linux");
    rows.closeTunnel(tunnel);
    const next = rows.openSession(sessionOf(3), 3);
    assert.equal(next, before);
    assert.deepEqual(rows.session(next), sessionOf(3));
    assert.equal(rows.sessionCount, 2);
  });
});
