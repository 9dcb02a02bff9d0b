import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { startDns } from "../../../test/support/dns.ts";
import type { TestDns } from "../../../test/support/dns.ts";
import { candidatesOf, makeAsk } from "./ask.ts";
import type { NameError } from "./ask.ts";
import { parseHosts, parseResolvConf } from "./system-files.ts";

describe("addresses of a name", () => {
  let dns: TestDns;
  const directory = mkdtempSync(join(tmpdir(), "postern-names-"));
  const paths = { hosts: join(directory, "hosts"), resolvConf: join(directory, "resolv.conf") };
  before(async () => (dns = await startDns()));
  after(async () => {
    await dns.stop();
    rmSync(directory, { recursive: true });
  });

  it("name servers return addresses of both families with their time to live", async () => {
    const ask = makeAsk(makeManualClock(), [dns.address], paths);
    assert.deepEqual(await ask("one.test"), { addresses: [{ address: "127.0.0.1", family: 4 }], ttlMs: 60_000 });
    const { addresses } = await ask("one.two.test.");
    assert.deepEqual(addresses.map(({ address }) => address).sort(), ["127.0.0.1", "::1"]);
  });

  it("the hosts file comes first and is read again when it changes", async () => {
    const clock = makeManualClock();
    const ask = makeAsk(clock, [dns.address], paths);
    writeFileSync(paths.hosts, "# local\n192.0.2.7\tBox.test box # a comment\n2001:db8::7 box\n");
    const found = async (name: string) => (await ask(name)).addresses.map(({ address }) => address);
    assert.deepEqual(await found("box"), ["192.0.2.7", "2001:db8::7"]);
    assert.deepEqual(await found("box.test"), ["192.0.2.7"]);
    writeFileSync(paths.hosts, "192.0.2.8 box.test another\n");
    clock.pass(2_000);
    assert.deepEqual(await found("box.test"), ["192.0.2.8"]);
    assert.ok(!dns.queries.includes("box.test"));
  });

  it("localhost and names below it resolve to the loopback without a query", async () => {
    const ask = makeAsk(makeManualClock(), [dns.address], { ...paths, hosts: join(directory, "none") });
    for (const name of ["localhost", "app.localhost", "localhost."]) {
      const { addresses } = await ask(name);
      assert.deepEqual(
        addresses.map(({ address }) => address),
        ["127.0.0.1", "::1"],
      );
    }
    assert.ok(!dns.queries.some((name) => name.includes("localhost")));
  });

  it("names that are invalid or unknown fail with ENOTFOUND", async () => {
    const ask = makeAsk(makeManualClock(), [dns.address], paths);
    for (const name of ["", "a b", `${"a".repeat(63)}.`.repeat(5), "gone.nowhere.test"]) {
      await assert.rejects(ask(name), (error: NameError) => error.code === "ENOTFOUND" && error.message.includes(name));
    }
  });

  it("search domains and ndots of resolv.conf decide which names are queried", () => {
    const system = parseResolvConf("search old.test\nsearch a.test b.test.\noptions rotate ndots:2\n");
    assert.deepEqual(system, { search: ["a.test", "b.test"], ndots: 2 });
    assert.deepEqual(candidatesOf("db", system), ["db.a.test", "db.b.test", "db"]);
    assert.deepEqual(candidatesOf("db.one.two", system), ["db.one.two", "db.one.two.a.test", "db.one.two.b.test"]);
    assert.deepEqual(candidatesOf("db.", system), ["db"]);
    assert.deepEqual(parseResolvConf("domain c.test"), { search: ["c.test"], ndots: 1 });
  });

  it("a hosts file contributes at most 64 addresses for one name, and invalid lines are skipped", () => {
    const many = Array.from({ length: 200 }, (_, index) => `192.0.2.${index} many`).join("\n");
    const hosts = parseHosts(`no-address name\n${many}`);
    assert.deepEqual([hosts.get("name"), hosts.get("many")?.length], [undefined, 64]);
  });
});
