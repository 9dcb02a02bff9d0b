import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { serviceSystem } from "./control.ts";
import { launchdPlist, systemdUnit } from "./unit.ts";

const facts = {
  program: ["/opt/node", "/opt/postern/bin/postern.js"],
  config: ["/home/ann/a b.yml", "/etc/100%.yml"],
  user: undefined,
  logFile: "/home/ann/Library/Logs/postern-agent.log",
};

describe("the file of a service", () => {
  it("a systemd unit runs the agent for ever, with words that mean what they are", () => {
    const unit = systemdUnit(facts);
    assert.match(
      unit,
      /^ExecStart=\/opt\/node \/opt\/postern\/bin\/postern\.js start --all --config "\/home\/ann\/a b\.yml" --config \/etc\/100%%\.yml$/m,
    );
    assert.match(unit, /^Restart=always$/m);
    assert.match(unit, /^RestartPreventExitStatus=2 3$/m);
    assert.doesNotMatch(unit, /User=|ProtectSystem/);
    assert.match(systemdUnit({ ...facts, user: "ann" }), /^User=ann\nRestart=always$/m);
    assert.match(systemdUnit({ ...facts, user: "ann" }), /^ProtectSystem=strict$/m);
  });

  it("a property list of launchd runs the agent for ever, with words that mean what they are", () => {
    const plist = launchdPlist({ ...facts, config: ["/Users/a&b/<x>.yml"], user: "ann" });
    assert.match(plist, /<string>start<\/string>\n {4}<string>--all<\/string>\n {4}<string>--config<\/string>/);
    assert.match(plist, /<string>\/Users\/a&amp;b\/&lt;x&gt;\.yml<\/string>/);
    assert.match(plist, /<key>UserName<\/key>\n {2}<string>ann<\/string>/);
    assert.match(plist, /<key>KeepAlive<\/key>\n {2}<true\/>/);
  });

  it("the file of a service is where its system looks, and other systems are refused by name", () => {
    assert.equal(serviceSystem(true, "linux", {}).file, "/etc/systemd/system/postern-agent.service");
    assert.match(serviceSystem(false, "darwin", {}).file, /\/Library\/LaunchAgents\/dev\.postern\.agent\.plist$/);
    assert.throws(() => serviceSystem(false, "win32", {}), /on win32 run `postern start --all`/);
  });
});
