import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Refusal } from "../../lib/errors.ts";
import { reservedAddrBehaviour } from "./reserved-addresses.ts";

/** Creates addresses in a range of this many ports, and counts the lookups. */
function setUp(count: number) {
  const held = new Set<string>();
  let lookUps = 0;
  const draft = {
    revision: 1,
    holder(_accountId: string, space: string, port: string) {
      lookUps += 1;
      return held.has(`${space} ${port}`) ? {} : undefined;
    },
  };
  const [, behaviour] = reservedAddrBehaviour({
    domain: "tcp.example.com",
    tcpPorts: { first: 20_000, last: 20_000 + count - 1 },
    liveObjects: { agentEndpoints: () => [] },
  });
  const make = (): string => {
    const given = { draft, accountId: "ac_1", doc: { addr: "" } } as never;
    const { doc } = (behaviour.prepare as NonNullable<typeof behaviour.prepare>)(given) as {
      readonly doc: { readonly addr: string };
    };
    held.add(`address ${doc.addr.split(":")[1]}`);
    draft.revision += 1;
    return doc.addr;
  };
  return { make, held, draft, lookUps: () => lookUps };
}

describe("ports of reserved addresses", () => {
  it("D9: ports of reserved addresses are found with a few lookups each, and a full range is searched once", () => {
    const count = 2000;
    const { make, held, draft, lookUps } = setUp(count);
    for (let port = 0; port < count; port += 2) held.add(`tcp port ${20_000 + port}`);
    const made = new Set(Array.from({ length: count / 2 }, make));
    assert.equal(made.size, count / 2);
    for (let attempt = 0; attempt < 100; attempt += 1) assert.throws(make, Refusal);
    assert.ok(lookUps() <= 2 * 3 * count, `${lookUps()} look-ups`);
    held.delete("tcp port 20000");
    draft.revision += 1;
    assert.equal(make(), "tcp.example.com:20000");
  });
});
