import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkNames, findOwnAddresses, renderRecords } from "./name-checks.ts";

describe("the addresses of postern up", () => {
  const address = (text: string, internal = false) => ({
    address: text,
    netmask: "",
    mac: "",
    internal,
    ...(text.includes(":") ? { family: "IPv6" as const, scopeid: 0 } : { family: "IPv4" as const }),
    cidr: null,
  });
  const names = { domain: "t.example.org", idpHost: "idp.t.example.org" };

  it("the addresses are those of interfaces that others can reach, unless they are given", () => {
    const interfaces = {
      lo: [address("127.0.0.1", true), address("::1", true)],
      eth0: [address("185.199.0.10"), address("2a00:1450::5"), address("fe80::1")],
    };
    assert.deepEqual(findOwnAddresses([], interfaces), {
      v4: ["185.199.0.10"],
      v6: ["2a00:1450::5"],
      translated: { v4: false, v6: false },
    });
    assert.deepEqual(findOwnAddresses(["185.199.0.99"], interfaces), {
      v4: ["185.199.0.99"],
      v6: [],
      translated: { v4: false, v6: false },
    });
  });

  it("a machine with private addresses gets a warning that it is behind NAT, and what to forward", async () => {
    const own = findOwnAddresses([], { eth0: [address("192.168.1.5"), address("fd00::5")] });
    assert.deepEqual(own.translated, { v4: true, v6: true });
    const there = () => Promise.resolve({ v4: ["185.199.0.10"], v6: [] });
    const { findings, missing } = await checkNames(names, own, there);
    assert.deepEqual(
      findings.map(({ outcome }) => outcome),
      ["warning", "warning", "warning"],
    );
    assert.match(findings[0]?.message ?? "", /its own address is private: forward the ports.*--address/);
    assert.deepEqual(missing, []);
    const nowhere = await checkNames(names, own, () => Promise.resolve({ v4: [], v6: [] }));
    const records = renderRecords(nowhere.missing, own);
    assert.match(records, /^ {2}\*\.t\.example\.org\. 300 IN A YOUR_PUBLIC_ADDRESS$/m);
    assert.doesNotMatch(records, /192\.168/);
  });

  it("a machine with a private IPv4 and a public IPv6 address is behind NAT for IPv4 only", async () => {
    const own = findOwnAddresses([], { eth0: [address("10.0.0.5"), address("2a00:1450::5")] });
    const outcomes = async (v4: string[], v6: string[]): Promise<string[]> => {
      const { findings } = await checkNames(names, own, () => Promise.resolve({ v4, v6 }));
      return [...new Set(findings.map(({ outcome }) => outcome))];
    };
    assert.deepEqual(await outcomes(["185.199.0.10"], ["2a00:1450::5"]), ["warning"]);
    assert.deepEqual(await outcomes([], ["2a00:1450::5"]), ["fine"]);
    assert.deepEqual(await outcomes([], ["2a00:1450::6"]), ["wrong"]);
    const { missing } = await checkNames(names, own, () => Promise.resolve({ v4: [], v6: [] }));
    const records = renderRecords(missing, own);
    assert.match(records, /IN A YOUR_PUBLIC_ADDRESS$/m);
    assert.match(records, /IN AAAA 2a00:1450::5$/m);
  });

  it("an AAAA record is refused on a machine without IPv6, and a missing one is named on a machine with IPv6 only", async () => {
    const only4 = findOwnAddresses([], { eth0: [address("185.199.0.10")] });
    const { findings } = await checkNames(names, only4, () =>
      Promise.resolve({ v4: ["185.199.0.10"], v6: ["2a00:1450::5"] }),
    );
    assert.equal(findings[0]?.outcome, "wrong");
    assert.match(
      findings[0]?.message ?? "",
      /leads to 2a00:1450::5, but this machine has no IPv6 address.*remove the AAAA record/,
    );
    const only6 = findOwnAddresses([], { eth0: [address("2a00:1450::5")] });
    const { missing } = await checkNames(names, only6, () => Promise.resolve({ v4: [], v6: [] }));
    assert.deepEqual(
      missing.map(({ name, type }) => `${name} ${type}`),
      ["t.example.org AAAA", "*.t.example.org AAAA"],
    );
  });

  it("a login host outside of the domain needs a record of its own", async () => {
    const own = findOwnAddresses(["185.199.0.10"]);
    const { missing } = await checkNames({ ...names, idpHost: "login.example.net" }, own, () =>
      Promise.resolve({ v4: [], v6: [] }),
    );
    assert.deepEqual(
      missing.map(({ name }) => name),
      ["t.example.org", "*.t.example.org", "login.example.net"],
    );
  });
});
