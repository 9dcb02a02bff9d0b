import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import { after, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { testLogins } from "../../../test/support/logins.ts";
import { newFlow } from "../browser/flow.ts";
import { makeFlowSealer } from "../browser/flow-sealing.ts";
import type { IdpMetadata } from "../saml/metadata/idp-metadata.ts";
import type { SamlIdentity } from "../saml/response/work.ts";
import { addressesOf } from "./own-name.ts";
import { SamlMethod } from "./saml-method.ts";
import { openTicket, sealTicket } from "./ticket.ts";

const sealer = makeFlowSealer();
sealer.use([{ id: "key_1", key: createSecretKey(Buffer.alloc(32, 7)), createdAt: 1 }]);
const now = Date.UTC(2026, 0, 2);
const ada = {
  nameId: "ada",
  email: "ada@example.com",
  name: "Ada",
  groups: ["staff"],
  sessionIndex: "s1",
  authnInstantMs: now - 1_000,
} as unknown as SamlIdentity;
const made = (identity = ada, authorized: readonly string[] = []): string =>
  sealTicket({ id: "f".repeat(22), url: "" }, { identity, authorized, routeId: "edghtsrt_1" }, { sealer, nowMs: now });

describe("the ticket of a SAML login", () => {
  it("I4: the ticket of a SAML login is valid for a minute, even with clock differences, only unmodified and at its own route", () => {
    const text = made();
    for (const [routeId, nowMs, isGood] of [
      ["edghtsrt_1", now, true],
      ["edghtsrt_1", now + 60_000, true],
      ["edghtsrt_1", now - 60_000, true],
      ["edghtsrt_1", now + 60_001, false],
      ["edghtsrt_1", now - 60_001, false],
      ["edghtsrt_2", now, false],
    ] as const) {
      assert.equal(openTicket(text, routeId, sealer, nowMs) !== undefined, isGood, `${routeId} ${nowMs - now}`);
    }
    assert.equal(openTicket(`${text}A`, "edghtsrt_1", sealer, now), undefined);
    assert.equal(openTicket("A".repeat(18_001), "edghtsrt_1", sealer, now), undefined);
    assert.equal(openTicket("", "edghtsrt_1", sealer, now), undefined);
  });

  it("the ticket of a SAML login contains the groups that the route lists first, and as many others as fit", () => {
    const groups = Array.from({ length: 1_000 }, (_, at) => `group-${at}`);
    const opened = openTicket(made({ ...ada, groups }, ["group-999", "group-500"]), "edghtsrt_1", sealer, now);
    assert.deepEqual(new Set(opened?.groups.slice(0, 2)), new Set(["group-500", "group-999"]));
    const count = opened?.groups.length ?? 0;
    assert.ok(count > 500 && count < 1_000, String(count));
    assert.throws(
      () => made({ ...ada, name: "x".repeat(9_000) }),
      /more data about the visitor than a ticket can carry/,
    );
  });

  /** Creates a route's method and its tickets. */
  const methodOf = (signOut: IdpMetadata["signOut"] = {}, isRenewable = true, warnings: readonly string[] = []) => {
    const clock = makeManualClock();
    const logins = testLogins(clock);
    after(() => logins.close());
    const asked: string[] = [];
    const renewMetadata = async (_accountId: string, askedBy: string): Promise<boolean> => asked.push(askedBy) > 0;
    const context = { ...logins.context, reports: { ...logins.context.reports, renewMetadata } };
    const metadata = { entityId: "https://id.example", signOn: {}, signOut, certificates: [], warnings };
    const route = {
      ...addressesOf("edghtsrt_1", context.settings),
      nameIdFormat: "",
      forceAuthn: false,
      allowIdpInitiated: true,
      authorizedGroups: [],
    };
    const source = { known: metadata, get: async () => metadata };
    const method = new SamlMethod(route, {
      source,
      signing: () => undefined,
      worker: { call: () => assert.fail("nothing is to be read here"), stop: async () => {} },
      context,
      isRenewable,
    });
    const flow = newFlow({ routeId: "edghtsrt_1", returnPath: "/", tries: 0, anew: false }, clock.now());
    const ticket = (url: string, id = flow.id): ReadonlyMap<string, string> => {
      const sealing = { sealer: context.sealer, nowMs: clock.now() };
      const said = { identity: ada, authorized: [], routeId: "edghtsrt_1" };
      return new Map([["ticket", sealTicket({ id, url }, said, sealing)]]);
    };
    return { method, flow, ticket, asked };
  };

  it("I4: the ticket of a login that started at the provider is valid only at its own host, and never for a flow; a flow's ticket is no arrival", async () => {
    const { method, flow, ticket } = methodOf();
    const begunThere = ticket("https://app.example.com/x?y=1");
    const { returnPath, identity } = (await method.arrive(begunThere, "app.example.com")) ?? {};
    assert.deepEqual([returnPath, identity?.subject], ["/x?y=1", "ada"]);
    assert.equal(await method.arrive(begunThere, "other.example.com"), undefined);
    assert.equal(await method.arrive(ticket(""), "app.example.com"), undefined);
    await assert.rejects(method.finish(begunThere, flow), { reason: "login_elsewhere" });
    await assert.rejects(method.finish(ticket("", "B".repeat(22)), flow), { reason: "login_elsewhere" });
    assert.equal((await method.finish(ticket(""), flow)).identity.subject, "ada");
  });

  it("the ticket of a SAML login contains the data for a logout, with either binding, if the provider supports logouts", async () => {
    const at = { location: "https://id.example/slo", responseLocation: "https://id.example/slo" };
    for (const [signOut, kept] of [
      [{}, ""],
      [{ redirect: at }, '[{"nameId":"ada"},"s1"]'],
      [{ post: at }, '[{"nameId":"ada"},"s1"]'],
    ] as const) {
      const { method, flow, ticket } = methodOf(signOut);
      assert.deepEqual((await method.finish(ticket(""), flow)).tokens, { access: "", refresh: "", id: kept });
    }
  });

  it("metadata with an address is fetched again, and the control plane is not asked without an address", async () => {
    const addressed = methodOf();
    assert.equal(await addressed.method.renewMetadata("ac_1"), true);
    const { method, asked } = methodOf({}, false);
    assert.equal(await method.renewMetadata("ac_1"), false);
    assert.deepEqual([addressed.asked, asked], [["edghtsrt_1"], []]);
  });

  it("warnings about valid metadata appear when the login is explained", () => {
    assert.equal(methodOf().method.warning, undefined);
    assert.equal(
      methodOf({}, true, ["a certificate expired at 2020", "a certificate is not base64"]).method.warning,
      "in its metadata a certificate expired at 2020; in its metadata a certificate is not base64",
    );
  });
});
