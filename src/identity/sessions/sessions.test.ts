import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { sessionOf, snapshotOf } from "../../../test/support/logins.ts";
import { recordOf } from "./session-records.ts";
import type { Session, SessionRecord } from "./login-session.ts";
import { makeSessions } from "./sessions.ts";
import { sessionsIn } from "./packed-sessions.ts";
import type { Sessions } from "./sessions.ts";
import { SleepingSessions } from "./sleeping.ts";

const realm = { siteId: "edge", kind: "oauth", provider: "github", clientId: "c", cookiePrefix: "service." };
const never = (): boolean => false;

/** Sessions of these records, once from a snapshot and once added one by one. */
function bothWays(changes: readonly Partial<SessionRecord>[]) {
  const clock = makeManualClock();
  const made = changes.map((change) => sessionOf(clock, realm, change));
  const records = made.map(({ object }) => recordOf(object) as SessionRecord);
  const ended: string[] = [];
  const open = (): Sessions => {
    const sessions = makeSessions(clock, ({ id }) => void ended.push(id));
    after(() => sessions.stop());
    return sessions;
  };
  const [asleep, awake] = [open(), open()];
  asleep.load([snapshotOf(records)], never, never);
  for (const record of records) awake.put(record);
  return { clock, records, cookies: made.map(({ cookie }) => cookie[1]), asleep, awake, ended };
}

const nobodys = { subject: "", email: "" };
const hour = 3_600_000;
/** Start time of the manual clock. */
const began = makeManualClock().now();
const people: readonly Partial<SessionRecord>[] = [
  { id: "appses_1", loginAt: began - 5 * hour, lastActive: began - hour },
  { id: "appses_2", endsAt: began + hour, lastActive: began - 2 * hour },
  { id: "appses_3", accountId: "ac_2", lastActive: began - 3 * hour },
  { id: "appses_4", realm: "other", maximumDuration: 60, inactivityTimeout: 30 },
  { id: "appses_5", providerUrl: "https://id.example", loginAt: began + hour },
].map((one, at) => ({
  ...one,
  identity: {
    ...nobodys,
    subject: `s${at % 2}`,
    email: at === 2 ? "" : `User${at % 3}@Example.com`,
    emailVerified: true,
    name: "",
    username: "",
    memberships: [],
    providerSession: at === 2 ? 'sid "2"' : `sid-${at}`,
    authenticatedAt: 0,
    managedDomain: "",
  },
}));

describe("sessions from a snapshot", () => {
  const idsOf = (sessions: readonly (Session | undefined)[]): string[] =>
    sessions.map((one) => one?.id ?? "none").sort();

  it("sessions from a snapshot can be looked up like all others, repeatedly", () => {
    const { records, cookies, asleep, awake } = bothWays(people);
    for (let round = 0; round < 2; round += 1) {
      for (const all of [asleep, awake]) {
        assert.deepEqual(
          cookies.map((cookie) => all.find(cookie)?.record),
          records,
        );
        assert.deepEqual(
          records.map(({ id }) => all.byId(id)?.record),
          records,
        );
        assert.equal(all.find("p1".padEnd(45, "A")), undefined);
        assert.equal(all.byId("appses_"), undefined);
        assert.deepEqual([all.size, all.of("ac_1"), all.of("ac_2"), all.of("ac_3")], [5, 4, 1, 0]);
      }
    }
    for (const [what, expected] of [
      [(all: Sessions) => all.ofSubject("s1"), ["appses_2", "appses_4"]],
      [(all: Sessions) => all.ofSubject("s"), []],
      [(all: Sessions) => all.ofEmail("uSER0@example.COM"), ["appses_1", "appses_4"]],
      [(all: Sessions) => all.ofEmail("user0"), []],
      [(all: Sessions) => all.ofProviderSession("ac_1", "https://id.example", "c", "sid-4"), ["appses_5"]],
      [(all: Sessions) => all.ofProviderSession("ac_2", "https://github.com", "c", 'sid "2"'), ["appses_3"]],
      [(all: Sessions) => all.ofProviderSession("ac_1", "https://github.com", "c", 'sid "2"'), []],
      [(all: Sessions) => all.ofProviderSession("ac_1", "https://github.com", "c", "sid"), []],
      [(all: Sessions) => all.ofProviderSession("ac_1", "https://github.com", "d", "sid-0"), []],
      [(all: Sessions) => [all.longestIdle("ac_1")], ["appses_2"]],
      [(all: Sessions) => [all.longestIdle("ac_3")], ["none"]],
    ] as const) {
      // Separate sets in which nothing has been looked up yet.
      const fresh = bothWays(people);
      for (const all of [fresh.asleep, fresh.awake]) {
        assert.deepEqual(idsOf(what(all)), expected, what.toString());
        assert.deepEqual(idsOf(what(all)), expected, `${what.toString()} again`);
        assert.equal(all.size, 5);
      }
    }
  });

  it("S7: sessions from a snapshot have the same age as all others, whatever the wall clock does", () => {
    for (const step of [-hour, 0, hour]) {
      const { clock, asleep, awake } = bothWays(people);
      clock.pass(1_500);
      clock.step(step);
      const timesOf = (all: Sessions) =>
        Object.fromEntries(
          Array.from(all.timed(), (one) => [
            one.id,
            [one.idle(clock), one.age(clock), one.isBeyond(clock), one.record.realm, one.record.host],
          ]),
        );
      const expected = timesOf(awake);
      assert.equal(Object.keys(expected).length, 5);
      assert.deepEqual(timesOf(asleep), expected);
      for (const id of Object.keys(expected)) asleep.byId(id);
      assert.deepEqual(timesOf(asleep), expected);
    }
  });

  it("sessions from a snapshot stay packed when a logout names another session at the provider", () => {
    const { clock, records } = bothWays(people);
    const sleeping = new SleepingSessions();
    for (const one of sessionsIn(snapshotOf(records))) sleeping.add(one, clock);
    sleeping.settle();
    const take = (session: string): unknown =>
      sleeping.takeOfProviderSession("ac_1", "https://github.com", "c", session).map(({ record }) => record.id);
    assert.deepEqual([take("none"), take('"'), sleeping.size], [[], [], 5]);
    assert.deepEqual([take("sid-1"), sleeping.size], [["appses_2"], 4]);
  });

  it("sessions from a snapshot end once, and a new snapshot replaces all but the newly made ones", () => {
    const { clock, records, cookies, asleep, ended } = bothWays(people);
    // Unchanged sessions stay packed and keep their age. Logins of older versions are skipped.
    const agesOf = (): unknown => Array.from(asleep.timed(), (one) => [one.id, one.age(clock)]);
    clock.pass(1_000);
    clock.step(-hour);
    const ages = agesOf();
    asleep.load(
      [snapshotOf([...records, { ...(records[0] as SessionRecord), id: "appses_0", loginAt: 0 }])],
      never,
      never,
    );
    assert.deepEqual(agesOf(), ages);
    assert.equal(ended.length, 0);
    clock.step(hour);
    const [first, second, third, fourth, fifth] = records as [
      SessionRecord,
      SessionRecord,
      SessionRecord,
      SessionRecord,
      SessionRecord,
    ];
    asleep.end(first.id);
    asleep.end(first.id);
    assert.deepEqual(ended, [first.id]);
    assert.equal(asleep.find(cookies[0] as string), undefined);
    assert.equal(asleep.of("ac_1"), 3);
    const made = recordOf(sessionOf(clock, realm, { id: "appses_new" }).object) as SessionRecord;
    asleep.put(made);
    const used = asleep.byId(fifth.id);
    used?.touch(clock);
    const gone: string[] = [];
    const changed = { ...second, identity: { ...second.identity, name: "Later" }, checkedAt: second.checkedAt + 1 };
    asleep.load(
      [snapshotOf([changed, fourth, fifth])],
      ({ id }) => id === made.id,
      (account, id) => {
        if (id !== fourth.id) return false;
        gone.push(`${account} ${id}`);
        return true;
      },
    );
    assert.deepEqual(gone, [`ac_1 ${fourth.id}`]);
    assert.deepEqual(ended.slice(1).sort(), [third.id, fourth.id]);
    assert.deepEqual(Array.from(asleep.timed(), ({ id }) => id).sort(), [second.id, fifth.id, made.id].sort());
    assert.equal(asleep.byId(second.id)?.record.identity.name, "Later");
    assert.equal(asleep.byId(fifth.id), used);
    assert.deepEqual(asleep.takeActivity(), [["ac_1", fifth.id, clock.now()]]);
    assert.equal(asleep.find(cookies[2] as string), undefined);
  });
});
