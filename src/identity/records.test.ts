import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { applicationSession } from "../resources/application-session.ts";
import type { ResourceObject } from "../schema/object.ts";
import { packingOf } from "../schema/packed.ts";
import type { PackedPaths } from "../schema/packed.ts";
import { nobody } from "./calls/identity.ts";
import { docOf, recordOf, recordsOf } from "./records.ts";
import type { SessionRecord } from "./session.ts";

const record = (id: string, memberships: readonly string[]): SessionRecord => ({
  id,
  accountId: "ac_1",
  userId: `appusr_${id}`,
  cookieHash: id,
  realm: "abcdefgh",
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
  identity: { ...nobody, subject: id, memberships },
  accessToken: "a",
  refreshToken: "",
  idToken: "",
  maximumDuration: 60,
  inactivityTimeout: 0,
});

/** As an edge gets it. */
function overTheLine(of: SessionRecord): SessionRecord | undefined {
  const doc = { ...docOf(of), last_active: "1970-01-01T00:00:02Z" };
  const object = { kind: "application_session", id: of.id, account_id: of.accountId, revision: 1, doc };
  return recordOf(JSON.parse(JSON.stringify(object)) as ResourceObject);
}

/** As an edge gets it in a snapshot. */
function inSnapshot(of: SessionRecord): SessionRecord | undefined {
  const packing = packingOf(applicationSession.packed as PackedPaths, () => "");
  const { own, common } = packing.pack({ ...docOf(of), last_active: "1970-01-01T00:00:02Z" });
  const commons = [{ account_id: of.accountId, text: common }];
  return recordsOf({ kind: "application_session", commons, objects: `[["${of.id}",0,${own}]]` })[0];
}

describe("the record of a session", () => {
  it("the record of a session is the same where it comes in a snapshot", () => {
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
    for (const one of [plain, silent, { ...plain, identity: full, endsAt: 9_000, refreshToken: "r", idToken: "i" }]) {
      assert.deepEqual(inSnapshot(one), one);
    }
  });

  it("the record of a session is the same at every edge", () => {
    for (const groups of [[], ["acme/ops"], Array.from({ length: 100 }, (_, at) => `group-${at}`)]) {
      assert.deepEqual(overTheLine(record("one", groups)), record("one", groups));
    }
  });

  it("the record of a session has in common with others what is the same, so that many fit into memory", () => {
    const [one, other] = [overTheLine(record("one", [])), overTheLine(record("two", []))];
    assert.ok(one && other);
    assert.equal(one.scopes, other.scopes);
    assert.equal(one.identity.memberships, other.identity.memberships);
    assert.notEqual(one.identity, other.identity);
  });
});
