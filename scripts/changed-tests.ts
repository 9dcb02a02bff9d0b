/** The fast lane: selects the tests that a change affects. A change must still pass the whole suite. */
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { matchesGlob } from "node:path";
import { importsOf } from "./imports.ts";
import type { Import } from "./imports.ts";

/**
 * Black-box tests of a folder or file, few enough to be fast. The longest matching path wins. A file is also tested by
 * tests named after it or one of its folders: `test/api/documents.test.ts` for `api/documents`, and
 * `test/traffic/modules-breaker.test.ts` for `modules/circuit-breaker.ts`.
 */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  "src/acme": ["test/traffic/{acme,acme-dns}.test.ts"],
  "src/agent": ["test/tunnel/client.test.ts", "test/traffic/{agents-tunnels,agent-sessions,agent-targets}.test.ts"],
  "src/api": ["test/api/{http,resources,protocol}.test.ts"],
  "src/api/console": ["test/api/console.test.ts"],
  "src/api/operations.ts": ["test/api/{coverage,http,protocol}.test.ts"],
  "src/api/description": ["test/api/{description,reference,reference-browser}.test.ts"],
  "src/api/domain-proof": ["test/api/domain-proof.test.ts"],
  "src/api/events": ["test/api/{events,events-traffic}.test.ts"],
  "src/api/events/targets": ["test/api/{events,events-clouds}.test.ts"],
  "src/api/filter": ["test/api/{filter,lists}.test.ts"],
  "src/api/history": ["test/api/{history,revisions}.test.ts"],
  "src/api/mcp": ["test/api/mcp.test.ts", "test/cli/assistants.test.ts"],
  "src/api/policies": ["test/api/policies.test.ts"],
  "src/api/provisioning": ["test/traffic/{acme,acme-dns}.test.ts"],
  "src/api/scopes": ["test/api/{scopes,reach}.test.ts"],
  "src/api/traffic": ["test/api/traffic.test.ts", "test/cli/exchanges.test.ts"],
  "src/capture": ["test/capture/*.test.ts", "src/capture/**/*.test.ts", "src/edge/watch/capture/*.test.ts"],
  "src/backtest": ["test/backtest/*.test.ts", "test/api/backtests.test.ts", "test/cli/backtest.test.ts"],
  "src/geo": ["test/traffic/countries.test.ts", "src/cli/platform/address-service.test.ts"],
  "src/cel": ["test/cel/*.test.ts", "test/api/filter.test.ts"],
  "src/import": ["test/import/*.test.ts"],
  "src/inspector": ["test/cli/{exchanges,inspector{,-page},local-tunnels}.test.ts"],
  "src/mcp": ["test/api/mcp.test.ts", "test/cli/assistants.test.ts"],
  "src/pages": ["test/cli/{inspector,console}-page.test.ts"],
  "src/cli": ["test/cli/{commands,platform}.test.ts"],
  "src/cli/agent": ["test/cli/start.test.ts"],
  "src/cli/agent-files": ["test/cli/{config,start}.test.ts"],
  "src/cli/chaos": ["test/cli/chaos.test.ts"],
  "src/cli/doctor": ["test/cli/{doctor,login}.test.ts"],
  "src/cli/service": ["test/cli/login.test.ts"],
  "src/cli/api": ["test/cli/api.test.ts"],
  "src/cli/mcp": ["test/cli/assistants.test.ts"],
  "src/cli/platform": ["test/cli/platform.test.ts"],
  "src/cli/terminal": ["test/cli/commands.test.ts"],
  "src/directory": [
    "test/api/live.test.ts",
    "test/storage/name-rule.test.ts",
    "test/traffic/{earlier-nodes,pooling,shared-names}.test.ts",
  ],
  "src/edge": ["test/traffic/{edge,modules-changes}.test.ts"],
  "src/edge/agents": ["test/traffic/{agents-tunnels,agent-options,bind-fields}.test.ts"],
  "src/edge/connections": ["test/traffic/{tcp-edges,tls-edges}.test.ts"],
  "src/edge/control": ["test/traffic/{edge,explain}.test.ts"],
  "src/edge/http": ["test/traffic/http1-*.test.ts"],
  "src/edge/http2": ["test/traffic/http2-*.test.ts", "test/clients/*.test.ts"],
  "src/edge/listeners": ["test/traffic/{edge,tls-edges,tls-faults}.test.ts"],
  "src/edge/tls": ["test/traffic/{certificates,client-certificates,tls-edges}.test.ts"],
  "src/edge/upstreams": ["test/traffic/{http1-upstream,modules-backends}.test.ts"],
  "src/edge/watch": ["test/traffic/traffic-events.test.ts"],
  "src/http1": ["test/traffic/http1-*.test.ts"],
  "src/http2": ["test/traffic/http2-*.test.ts"],
  "src/identity": ["test/api/modules.test.ts", "test/identity/{checks,flows,log-out}.test.ts"],
  "src/identity/calls": ["test/identity/{codes,openid}.test.ts"],
  "src/identity/oauth": ["test/identity/oauth-providers.test.ts"],
  "src/identity/oidc": ["test/identity/{hostile-tokens,openid}.test.ts"],
  "src/identity/saml": [
    "test/identity/saml-{claims,forms,hostile,requests,responses,signatures}.test.ts",
    "test/identity/samlify.test.ts",
  ],
  "src/identity/saml-login": ["test/identity/saml-{logout,metadata,routes,sessions}.test.ts"],
  "src/jose": ["src/policy/actions/jwt-validation.test.ts", "test/identity/hostile-tokens.test.ts"],
  "src/lib": ["test/traffic/edge.test.ts", "test/api/http.test.ts"],
  "src/modules": ["test/traffic/modules-{access,changes}.test.ts"],
  "src/outbound": ["test/traffic/forbidden-addresses.test.ts"],
  "src/policy": ["test/traffic/policies.test.ts", "test/api/endpoints.test.ts"],
  "src/resources": ["test/api/{resources,description,modules}.test.ts"],
  "src/routing": ["test/traffic/{authorities,explain,paths}.test.ts"],
  "src/schema": ["test/api/{input,json}.test.ts"],
  "src/settings": ["test/settings.test.ts", "test/cli/commands.test.ts"],
  "src/telemetry": ["test/telemetry/*.test.ts"],
  "src/sso": ["test/cli/sso.test.ts"],
  "src/ssh": ["test/traffic/ssh.test.ts", "src/ssh/**/*.test.ts"],
  "src/storage/cluster": ["test/storage/{nodes,presence,shared-notes}.test.ts"],
  "src/storage": ["test/storage/{commit,history,rules,secrets}.test.ts"],
  "src/traffic": ["test/traffic/modules-{access,changes,headers}.test.ts"],
  "src/traffic/parts": ["test/traffic/modules-*.test.ts"],
  "src/tunnel": ["test/tunnel/*.test.ts"],
  "src/webhooks": ["test/traffic/modules-webhooks.test.ts", "test/cli/webhook-send.test.ts"],
  "src/websocket": ["test/traffic/modules-websocket.test.ts"],
  console: ["test/cli/{inspector,console}-page.test.ts"],
  docs: ["test/cli/{guide,guide-commands,readme}.test.ts"],
  sdk: ["test/api/sdk.test.ts"],
};

/**
 * Sources that most tests use, so that their use is not significant: fixtures use `lib`, and lists of calls use the
 * operations.
 */
const usedByMost = ["src/lib/", "src/api/operations.ts"];

/** Tests of repository rules, which every change can break. */
const always = ["test/citations.test.ts", "test/house.test.ts"];

/** The slowest tests, started first. Otherwise one core would run them alone at the end. */
const longest = [
  "test/cli/nodes.test.ts",
  "test/cli/console-page.test.ts",
  "test/cli/console-views.test.ts",
  "test/faults/leaks.test.ts",
  "test/api/coverage.test.ts",
  "test/cli/sso.test.ts",
  "test/identity/scenarios.test.ts",
  "test/cli/nodes-stop.test.ts",
  "test/over-nodes.test.ts",
  "test/storage/retention.test.ts",
  "test/identity/real-browser.test.ts",
  "test/cli/dev.test.ts",
  "test/cli/refused-start.test.ts",
  "test/storage/faults.test.ts",
  "test/identity/saml-metadata.test.ts",
  "test/identity/flows.test.ts",
  "test/cli/sso-agent.test.ts",
  "test/traffic/explain.test.ts",
  "test/storage/model.test.ts",
  "test/identity/saml-sessions.test.ts",
  "test/identity/policy-saml.test.ts",
  "test/cli/migrate.test.ts",
  "test/identity/saml-routes.test.ts",
  "test/storage/crash.test.ts",
  "test/traffic/connections.test.ts",
  "test/traffic/http2-upstreams.test.ts",
  "test/traffic/acme.test.ts",
  "test/traffic/acme-dns.test.ts",
  "test/api/model.test.ts",
  "test/storage/postgres-ways.test.ts",
  "test/cli/platform.test.ts",
  "test/storage/full-disk.test.ts",
  "test/cli/commands.test.ts",
  "test/identity/saml-hostile.test.ts",
  "test/api/canaries.test.ts",
];

/**
 * Tests that need a separate process: they count or stop resources of the process, such as threads or memory, or start
 * processes that end with it.
 */
export const alone = [
  "src/policy/parts/find-replace.test.ts",
  "test/cli/nodes*.test.ts",
  "test/faults/*.test.ts",
  "test/traffic/http2-floods.test.ts",
];

/**
 * Whether a test runs in a separate process. The other tests take several times longer to load than to run, and share
 * processes.
 */
export function isAlone(test: string): boolean {
  return alone.some((glob) => matchesGlob(test, glob));
}

/** Returns every test file in starting order. */
export function allTests(): string[] {
  const files = globSync(["src/**/*.test.ts", "test/**/*.test.ts"]).sort();
  return [...longest, ...files.filter((file) => !longest.includes(file))];
}

/** Returns those of `tests` that changes to these paths, including deletions, affect. */
export function testsFor(changed: readonly string[], tests = allTests()): string[] {
  const wanted = new Set(always);
  const reach = new Map(tests.map((test) => [test, reachOf(test)]));
  for (const file of changed) {
    const globs = roomOf(file);
    for (const test of tests) {
      const isBlackBox = test.startsWith("test/");
      const uses = !usedByMost.some((one) => file.startsWith(one)) && (reach.get(test)?.has(file) ?? false);
      const isNear = !isBlackBox && folderOf(test, 2) === folderOf(file, 2) && reachOf(test, true).has(file);
      const isNamed = isBlackBox && file.startsWith("src/") && (isNamedFor(test, file) || isOneOf(file, stemOf(test)));
      if (test === file || uses || isNear || isNamed || globs.some((glob) => matchesGlob(test, glob))) wanted.add(test);
    }
  }
  return tests.filter((test) => wanted.has(test));
}

/** Returns paths that differ from `base`, committed or not, including untracked files. */
export function changedSince(base: string | undefined, directory = "."): string[] {
  const git = (...args: string[]): string[] => {
    const run = spawnSync("git", args, { cwd: directory, encoding: "utf8" });
    if (run.status !== 0) throw new Error(`git ${args.join(" ")}: ${run.stderr.trim()}`);
    return run.stdout.split("\n").filter((line) => line !== "");
  };
  const [from = "HEAD"] = git("merge-base", "HEAD", base ?? "main");
  return [...git("diff", "--name-only", "--relative", from), ...git("ls-files", "--others", "--exclude-standard")];
}

function roomOf(file: string): readonly string[] {
  const fitting = Object.keys(rooms).filter((room) => file === room || file.startsWith(`${room}/`));
  const room = fitting.sort((one, other) => other.length - one.length)[0];
  return room === undefined ? [] : (rooms[room] as readonly string[]);
}

/**
 * Whether a test has the name of this file, or of one of its folders below the room, and is in a place for the room's
 * tests. Several files have the name `nodes`.
 */
function isNamedFor(test: string, file: string): boolean {
  const below = file
    .replace(/\.[a-z]+$/, "")
    .split("/")
    .slice(2);
  return below.includes(stemOf(test)) && roomOf(file).some((glob) => folderOf(glob, 2) === folderOf(test, 2));
}

function stemOf(test: string): string {
  return test.slice(test.lastIndexOf("/") + 1).replace(".test.ts", "");
}

/** Whether a test `ROOM-WORDS` is named after this file or folder of the room. */
function isOneOf(file: string, stem: string): boolean {
  const [, room = "", word = ""] = /^([a-z\d]+)-(.+?)s?$/.exec(stem) ?? [];
  return word !== "" && file.startsWith(`src/${room}/`) && file.slice(room.length + 5).includes(word);
}

function folderOf(file: string, depth: number): string {
  return file.split("/").slice(0, depth).join("/");
}

/**
 * Returns the files that a test uses: its own imports, and all files below its fixtures. Almost every source imports
 * almost every other one, so only `deep` follows imports of sources, for unit tests.
 */
function reachOf(test: string, deep = false): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (file: string): void => {
    for (const { target, typeOnly } of importsOrNone(file)) {
      // A type import does not affect what runs.
      if (typeOnly || found.has(target) || (!deep && file !== test && target.startsWith("src/"))) continue;
      found.add(target);
      if (deep || !target.startsWith("src/")) visit(target);
    }
  };
  visit(test);
  return found;
}

const read = new Map<string, readonly Import[]>();

/** Returns the imports of a file, or none if it was deleted. */
function importsOrNone(file: string): readonly Import[] {
  let imports = read.get(file);
  if (!imports) {
    try {
      imports = importsOf(file);
    } catch {
      imports = [];
    }
    read.set(file, imports);
  }
  return imports;
}
