import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { snapshotOf } from "../../../test/support/logins.ts";
import type { ResourceObject } from "../../schema/object.ts";
import { unknownIdentity } from "../calls/identity.ts";
import { docOf, recordOf } from "./session-records.ts";
import { emailAt, readGist, hashAt, ownText, recordOfText, sessionsIn, subjectAt } from "./packed-sessions.ts";
import type { SessionRecord } from "./login-session.ts";

const record = (id: string, memberships: readonly string[]): SessionRecord => ({
  id,
  accountId: "ac_1",
  userId: `appusr_${id}`,
  cookieHash: id,
  realm: "abcdefgh",
  cookiePrefix: "service.",
  host: "app.example.com",
  siteId: "edge",
  routeId: "route",
  providerName: "GitHub",
  providerUrl: "https://github.com",
  clientId: "c",
  loginAt: 1_000,
  lastActive: 2_000,
  checkedAt: 3_000,
  scopes: ["read:user", "user:email"],
  identity: { ...unknownIdentity, subject: id, memberships },
  accessToken: "a",
  refreshToken: "",
  idToken: "",
  maximumDuration: 60,
  inactivityTimeout: 0,
  endsAt: 0,
  grant: undefined,
});

/** As an edge receives it in a message. */
function overTheLine(of: SessionRecord): SessionRecord | undefined {
  const doc = { ...docOf(of), last_active: "1970-01-01T00:00:02Z" };
  const object = { kind: "application_session", id: of.id, account_id: of.accountId, revision: 1, doc };
  return recordOf(JSON.parse(JSON.stringify(object)) as ResourceObject);
}

/** As an edge receives it in a snapshot. */
function inSnapshot(of: SessionRecord, browser: object = {}): SessionRecord | undefined {
  const [one] = sessionsIn(snapshotOf([of], { browser_session: browser }));
  if (!one) return undefined;
  const found = recordOfText(one.id, one.place, ownText(one));
  const { cookieHash, loginAt, lastActive, endsAt = 0, identity } = found;
  const { subject, email } = identity;
  const { bytes, places, ...times } = readGist(one);
  const textAt = (at: number): string => bytes.toString("utf8", places.start(at), places.end(at));
  const keys = { cookieHash: textAt(hashAt), subject: textAt(subjectAt), email: textAt(emailAt) };
  assert.deepEqual(
    { ...times, ...keys },
    { loginAt, lastActive, endsAt, cookieHash, subject, email: email.toLowerCase() },
  );
  return found;
}

describe("a session record", () => {
  it("a session record is the same in a snapshot", () => {
    const plain = record("one", []);
    const identity = {
      subject: "s",
      email: "a@b.c",
      emailVerified: true,
      name: "n",
      username: "u",
      memberships: ["g"],
    };
    const full = { ...identity, providerSession: "p", authenticatedAt: 4, managedDomain: "b.c" };
    const silent = { ...plain, accessToken: "", identity: { ...plain.identity, subject: "" } };
    const without = { accessToken: "" };
    const odd = ["A.b@C", "Ä", '"', "\\", "]", ',"', "1]", "Grüße", "\n", " ", "["];
    for (const one of [
      plain,
      silent,
      { ...plain, identity: full, endsAt: 9_000, refreshToken: "r", idToken: "i" },
      { ...plain, ...without, identity: full },
      { ...plain, ...without, identity: full, endsAt: 9_000 },
      { ...plain, ...without, identity: { ...unknownIdentity, subject: "s", memberships: ["g", "1"] } },
      { ...plain, ...without, identity: { ...unknownIdentity, subject: "s", authenticatedAt: 4 } },
      ...odd.flatMap((text) =>
        (["subject", "email", "name", "username", "providerSession", "managedDomain"] as const).map((name) => ({
          ...plain,
          ...without,
          identity: { ...unknownIdentity, subject: "s", [name]: text },
        })),
      ),
    ]) {
      for (const browser of [
        {},
        { ip_address: "192.0.2.1", location: { country_code: "DE" }, user_agent: { raw: 'it\'s "odd"' } },
        { ip_address: 'a"b', location: { country_code: "\\" } },
      ]) {
        assert.deepEqual(inSnapshot(one, browser), one);
      }
    }
  });

  it("a session record is the same at every edge", () => {
    for (const groups of [[], ["acme/ops"], Array.from({ length: 100 }, (_, at) => `group-${at}`)]) {
      assert.deepEqual(overTheLine(record("one", groups)), record("one", groups));
    }
  });

  it("session records share equal parts, so that many fit into memory", () => {
    const [one, other] = [overTheLine(record("one", [])), overTheLine(record("two", []))];
    assert.ok(one && other);
    assert.equal(one.scopes, other.scopes);
    assert.equal(one.identity.memberships, other.identity.memberships);
    assert.notEqual(one.identity, other.identity);
  });
});
