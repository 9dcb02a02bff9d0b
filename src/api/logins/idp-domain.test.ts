import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { openServerStore, storeBut } from "../../../test/support/store.ts";
import { keepingLog } from "../../../test/storage/fixture.ts";
import { emptyDoc } from "../../schema/doc.ts";
import { reservedDomain } from "../../resources/reserved-domain.ts";
import { systemWrite } from "../operation/system-write.ts";
import { keepIdpDomain } from "./idp-domain.ts";

const kinds: ReadonlySet<string> = new Set([reservedDomain.name]);
const domain = "t.example.com";

describe("domain of the login host", () => {
  it("domain of the login host belongs to the first account and gets a certificate if the terms are accepted and the name is public", async () => {
    const clock = makeManualClock();
    const { store, accountId, stop } = await openServerStore(clock);
    after(stop);
    const { log, lines } = keepingLog();
    const keep = (agreed: boolean, names: { domain: string; idpHost?: string }, on = store): Promise<void> =>
      keepIdpDomain({ store: on, clock, log, names, agreed });
    const domains = (): readonly Readonly<Record<string, unknown>>[] =>
      Array.from(store.objects(kinds), ({ account_id, doc }) => ({ ...doc, account_id }));
    await keep(false, { domain });
    for (const local of ["localhost", "corp.local", "a.test", "x.invalid", "corp.internal", "p.alt"]) {
      await keep(true, { domain: local });
    }
    await keep(true, { domain }, storeBut(store, { accounts: () => [] }));
    assert.deepEqual(domains(), []);
    await keep(true, { domain }, storeBut(store, { write: () => Promise.reject(new Error("away")) }));
    assert.equal(lines.length, 1, "it is said, and the start goes on");
    // Two nodes start at the same time.
    await Promise.all([keep(true, { domain }), keep(true, { domain })]);
    await keep(true, { domain });
    const [made, another] = domains();
    assert.equal(another, undefined);
    assert.deepEqual(
      { ...made },
      {
        ...emptyDoc(reservedDomain.fields),
        account_id: accountId,
        domain: `idp.${domain}`,
        description: "Host to which logins return; owned by the server.",
        certificate_management_policy: { authority: "letsencrypt", private_key_type: "ecdsa" },
      },
    );
    assert.equal(lines.length, 1);
    await keep(true, { domain: "localhost", idpHost: "localhost.example.com" });
    assert.deepEqual(
      domains()
        .map((one) => String(one["domain"]))
        .sort(),
      [`idp.${domain}`, "localhost.example.com"],
    );
  });

  it("domain of the login host stays with the account that already has it, and the log warns the operator", async () => {
    const clock = makeManualClock();
    const { store, stop } = await openServerStore(clock);
    after(stop);
    const other = await store.createAccount("other");
    const doc = { ...emptyDoc(reservedDomain.fields), domain: `idp.${domain}` };
    await store.write(systemWrite(other.id, "reserve", clock), (draft) =>
      draft.create(other.id, reservedDomain.name, doc),
    );
    const { log, lines } = keepingLog();
    await keepIdpDomain({ store, clock, log, names: { domain }, agreed: true });
    assert.deepEqual(
      Array.from(store.objects(kinds), ({ account_id }) => account_id),
      [other.id],
    );
    assert.match(lines.map(({ event }) => event).join(), /another account has reserved/);
  });
});
