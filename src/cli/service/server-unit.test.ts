import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { serverUnit } from "./server-unit.ts";

describe("the systemd unit of a server", () => {
  it("the systemd unit of a server equals the one in the Debian package", () => {
    const facts = { program: ["/usr/bin/postern"], config: "/etc/postern/postern.yaml", data: "/var/lib/postern" };
    assert.equal(serverUnit(facts), readFileSync("scripts/release/debian/postern.service", "utf8"));
  });

  it("the systemd unit of a server can write to a data directory elsewhere", () => {
    const unit = serverUnit({
      program: ["/opt/node", "/opt/postern/bin/postern.js"],
      config: "/srv/p.yaml",
      data: "/srv/data",
    });
    assert.match(unit, /^ReadWritePaths=\/srv\/data$/m);
    assert.doesNotMatch(unit, /StateDirectory/);
    assert.match(unit, /^ExecStart=\/opt\/node \/opt\/postern\/bin\/postern\.js serve --config \/srv\/p\.yaml$/m);
  });
});
