import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../../test/support/clock.ts";
import { seededRandom } from "../../../../test/support/random.ts";
import { makeRoutingTable } from "../../../routing/routing-table.ts";
import { makeEndpointAddresses } from "./endpoint-addresses.ts";
import { PortMarks } from "./port-marks.ts";
import type { Tunnel } from "../tunnels/tunnel.ts";

function world(first: number, last: number) {
  const clock = makeManualClock();
  const addresses = makeEndpointAddresses(makeRoutingTable(clock), "example.com", { first, last }, () =>
    clock.monotonic(),
  );
  let asked = 0;
  const session = { accountId: "ac_1", credentialId: "cr_1" };
  const tunnels = new Map<number, Tunnel>();
  return {
    clock,
    addresses,
    take(parts: readonly string[], claimant = session): number {
      const port = addresses.generated(parts, claimant, (one) => {
        asked += 1;
        return addresses.tunnel(one) === undefined;
      });
      const tunnel = { session: claimant } as unknown as Tunnel;
      tunnels.set(port, tunnel);
      addresses.put(port, tunnel);
      return port;
    },
    release(port: number): void {
      addresses.release(port, tunnels.get(port) as Tunnel);
    },
    asked: () => asked,
  };
}

describe("generated ports and their marks", () => {
  it("D9: generated ports of tunnels with the same target are each checked once, for any number of tunnels", () => {
    const { take, release, asked } = world(20_000, 22_999);
    const ports = new Set<number>();
    for (let count = 0; count < 2_500; count += 1) ports.add(take(["token", "localhost:80"]));
    assert.equal(ports.size, 2_500);
    assert.ok(asked() <= 5_000, `${asked()} looks`);
    const before = asked();
    const [some] = ports;
    for (let count = 0; count < 1_000; count += 1) {
      release(some as number);
      assert.equal(take(["token", "localhost:80"]), some);
    }
    assert.ok(asked() - before <= 2_000, `${asked() - before} looks`);
  });

  it("generated ports of a full range are refused without another check, until one is released", () => {
    const { take, release, asked } = world(20_000, 20_099);
    for (let count = 0; count < 100; count += 1) take(["a"]);
    const other = { accountId: "ac_1", credentialId: "cr_2" };
    assert.throws(() => take(["b"], other), /all ports from 20000 to 20099 are in use/);
    const before = asked();
    for (let count = 0; count < 50; count += 1) assert.throws(() => take(["b"], other), /all ports/);
    assert.equal(asked(), before);
    release(20_042);
    assert.equal(take(["b"], other), 20_042);
  });

  it("marks of ports return the same results as a linear search", () => {
    const random = seededRandom(7);
    for (let round = 0; round < 300; round += 1) {
      const count = 1 + random.below(130);
      const marks = new PortMarks(count);
      const plain = Array.from({ length: count }, () => true);
      for (let change = 0; change < count; change += 1) {
        const at = random.below(count);
        plain[at] = random.below(3) === 0;
        marks.set(at, plain[at] as boolean);
      }
      const from = random.below(count);
      const to = random.below(count + 1);
      const wanted = plain.findIndex((isMarked, at) => isMarked && at >= from && at < to);
      assert.equal(marks.next(from, to), wanted);
    }
  });
});
