import assert from "node:assert/strict";
import { createRequire } from "node:module";
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
  it("a systemd unit runs the agent permanently and quotes its words", () => {
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

  it("a property list of launchd runs the agent permanently and escapes its words", () => {
    const plist = launchdPlist({ ...facts, config: ["/Users/a&b/<x>.yml"], user: "ann" });
    assert.match(plist, /<string>start<\/string>\n {4}<string>--all<\/string>\n {4}<string>--config<\/string>/);
    assert.match(plist, /<string>\/Users\/a&amp;b\/&lt;x&gt;\.yml<\/string>/);
    assert.match(plist, /<key>UserName<\/key>\n {2}<string>ann<\/string>/);
    assert.match(plist, /<key>KeepAlive<\/key>\n {2}<true\/>/);
  });

  it("a property list of launchd is valid, with keys and types of launchd.plist(5), for any words", () => {
    const config = ["/Users/a&b/<x>]]>.yml", '/Users/ünï "quoted"/--.yml'];
    for (const user of [undefined, "ann"]) {
      const read = readPlist(launchdPlist({ ...facts, config, user }));
      assert.deepEqual(read, {
        Label: "dev.postern.agent",
        ...(user !== undefined && { UserName: user }),
        ProgramArguments: [...facts.program, "start", "--all", ...config.flatMap((path) => ["--config", path])],
        RunAtLoad: true,
        KeepAlive: true,
        ThrottleInterval: 5,
        StandardErrorPath: facts.logFile,
      });
    }
  });

  it("a service of launchd is stopped before its removal, whether it runs or not", () => {
    const { ending, uninstall, start, stop } = serviceSystem(true, "darwin", {});
    assert.deepEqual(ending, stop);
    assert.deepEqual(uninstall, [["launchctl", "disable", "system/dev.postern.agent"]]);
    assert.deepEqual(start, [["launchctl", "bootstrap", "system", "/Library/LaunchDaemons/dev.postern.agent.plist"]]);
  });

  it("the file of a service is where its system looks, and other systems are rejected by name", () => {
    assert.equal(serviceSystem(true, "linux", {}).file, "/etc/systemd/system/postern-agent.service");
    assert.match(serviceSystem(false, "darwin", {}).file, /\/Library\/LaunchAgents\/dev\.postern\.agent\.plist$/);
    assert.throws(() => serviceSystem(false, "win32", {}), /of win32 to run `postern start --all`/);
  });
});

interface Node {
  readonly nodeType: number;
  readonly nodeName: string;
  readonly textContent: string;
  readonly childNodes: { readonly length: number; item(at: number): Node };
}

type PlistValue = string | number | boolean | PlistValue[] | { [key: string]: PlistValue };

/** Parses the part of the property list DTD that a service needs. Throws for anything else. */
function readPlist(text: string): PlistValue {
  const { DOMParser } = createRequire(import.meta.url)("@xmldom/xmldom") as {
    readonly DOMParser: new (options: object) => {
      parseFromString(text: string, type: string): { documentElement: Node };
    };
  };
  const fail = (_level: string, message: string): never => assert.fail(message);
  const { documentElement } = new DOMParser({ onError: fail }).parseFromString(text, "text/xml");
  assert.equal(documentElement.nodeName, "plist");
  const [value, ...more] = elementsOf(documentElement);
  assert.equal(more.length, 0);
  return valueOf(value as Node);
}

function valueOf(node: Node): PlistValue {
  const inside = elementsOf(node);
  switch (node.nodeName) {
    case "string":
      return node.textContent;
    case "integer":
      return Number(node.textContent);
    case "true":
      return true;
    case "array":
      return inside.map(valueOf);
    case "dict":
      return Object.fromEntries(
        inside.flatMap((key, at) => {
          if (at % 2 === 1) return [];
          assert.equal(key.nodeName, "key");
          return [[key.textContent, valueOf(inside[at + 1] as Node)]];
        }),
      );
    default:
      return assert.fail(node.nodeName);
  }
}

function elementsOf({ childNodes }: Node): Node[] {
  return Array.from({ length: childNodes.length }, (_, at) => childNodes.item(at)).filter(
    ({ nodeType }) => nodeType === 1,
  );
}
