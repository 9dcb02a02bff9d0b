import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../test/support/random.ts";
import { markOf } from "../lib/work-mark.ts";
import { systemClock } from "../lib/clock.ts";
import { defineModule } from "../traffic/module.ts";
import type { ModuleDeclaration } from "../traffic/module.ts";
import { passStep } from "../traffic/step.ts";
import { f } from "../schema/fields.ts";
import type { ResourceObject } from "../schema/object.ts";
import type { Problem, RoutingChange } from "./planes/messages.ts";
import { makeRoutingTable } from "./routing-table.ts";
import { httpsSite, tlsSite } from "../../test/support/routing.ts";

const account = "ac_1";
let lastRevision = 0;

function object(kind: string, id: string, doc: Record<string, unknown>, accountId = account): ResourceObject {
  lastRevision += 1;
  return { kind, id, account_id: accountId, revision: lastRevision, doc };
}

function edge(id: string, hosts: string[], blocks: Record<string, unknown> = {}, accountId = account): ResourceObject {
  const doc = { hostports: hosts.map((host) => `${host}:443`), mutual_tls: null, tls_termination: null, ...blocks };
  return object("https_edge", id, doc, accountId);
}

function route(id: string, edgeId: string, type: string, match: string, blocks: Record<string, unknown> = {}) {
  return object("https_edge_route", id, { edge_id: edgeId, match_type: type, match, ...blocks });
}

function group(id: string, labels: Record<string, string> = { app: id }, accountId = account): ResourceObject {
  return object("tunnel_group_backend", id, { labels }, accountId);
}

function put(one: ResourceObject): RoutingChange {
  return { kind: one.kind, id: one.id, account_id: one.account_id, object: one };
}

function gone(kind: string, id: string): RoutingChange {
  return { kind, id, account_id: account, object: null };
}

const to = (backend: string) => ({ backend: { enabled: true, backend_id: backend } });

/** A table that compares each result of `change` with the previous state. */
function tableWith(objects: ResourceObject[], modules?: readonly ModuleDeclaration[]) {
  const table = makeRoutingTable(systemClock, modules);
  const problems = table.load(lastRevision, objects);
  const change = (...changes: RoutingChange[]): readonly Problem[] => table.change((lastRevision += 1), changes);
  return { table, problems, change };
}

describe("routing table", () => {
  it("routing table finds an edge by its exact host before a wildcard, and the longest wildcard first", () => {
    const { table } = tableWith([
      edge("e1", ["a.example.com"]),
      edge("e2", ["*.example.com"]),
      edge("e3", ["*.b.example.com"]),
    ]);
    assert.equal(httpsSite(table, "a.example.com")?.id, "e1");
    assert.equal(httpsSite(table, "x.example.com")?.id, "e2");
    assert.equal(httpsSite(table, "y.x.example.com")?.id, "e2");
    assert.equal(httpsSite(table, "b.example.com")?.id, "e2");
    assert.equal(httpsSite(table, "z.y.b.example.com")?.id, "e3");
    assert.equal(httpsSite(table, "example.com"), undefined);
    assert.equal(httpsSite(table, "xexample.com"), undefined);
    assert.equal(httpsSite(table, ""), undefined);
  });

  it("R6: routing table closes a route that hung a thread, until the route changes", () => {
    const edgeOf = edge("edghts_q", ["q.example.com"]);
    const held = route("edghtsrt_q", "edghts_q", "path_prefix", "/");
    const table = makeRoutingTable(systemClock, undefined, new Set([markOf(held.id, held.revision)]));
    const [problem] = table.load(1, [edgeOf, held]);
    assert.match(problem?.message ?? "", /^stopped: it blocked a thread/);
    const found = () => httpsSite(table, "q.example.com")?.findRoute("/", "q.example.com");
    assert.notEqual(found()?.problem, undefined);
    table.change(2, [put(route("edghtsrt_q", "edghts_q", "path_prefix", "/"))]);
    assert.equal(found()?.problem, undefined);
  });

  it("routing table prefers an exact route to a prefix, and the longest prefix on segment boundaries", () => {
    const { table } = tableWith([
      edge("e", ["h"]),
      route("r1", "e", "path_prefix", "/"),
      route("r2", "e", "path_prefix", "/foo"),
      route("r3", "e", "path_prefix", "/foo/bar/"),
      route("r4", "e", "exact_path", "/foo"),
    ]);
    const site = httpsSite(table, "h");
    const found = (path: string) => site?.findRoute(path, "h")?.id;
    assert.equal(found("/"), "r1");
    assert.equal(found("/foo"), "r4");
    assert.equal(found("/foo/"), "r2");
    assert.equal(found("/foo/x"), "r2");
    assert.equal(found("/foobar"), "r1");
    assert.equal(found("/foo/bar"), "r3");
    assert.equal(found("/foo/bar/baz"), "r3");
    assert.equal(found("/foo/barbaz"), "r2");
    assert.equal(found("*"), undefined);
  });

  it("routing table distinguishes a prefix with a trailing slash from one without", () => {
    const { table } = tableWith([
      edge("e", ["h"]),
      route("r1", "e", "path_prefix", "/foo"),
      route("r2", "e", "path_prefix", "/foo/"),
    ]);
    assert.equal(httpsSite(table, "h")?.findRoute("/foo", "h")?.id, "r1");
    assert.equal(httpsSite(table, "h")?.findRoute("/foo/", "h")?.id, "r2");
    assert.equal(httpsSite(table, "h")?.findRoute("/foo/x", "h")?.id, "r2");
  });

  it("R1: routing table matches a route by the canonical form of its path", () => {
    const { table } = tableWith([edge("e", ["h"]), route("r", "e", "exact_path", "/%7Euser/%c3%a4%2b|")]);
    assert.equal(httpsSite(table, "h")?.findRoute("/~user/%C3%A4+%7C", "h")?.id, "r");
  });

  it("routing table finds the same routes as a scan of all routes, through random changes", () => {
    const random = seededRandom(5);
    const { table, change } = tableWith([edge("e", ["h"])]);
    const model = new Map<string, { type: string; match: string }>();
    const segments = ["a", "b", "ab", ""];
    const randomPath = (): string => {
      let path = "";
      for (let count = random.below(4); count >= 0; count -= 1) path += `/${random.pick(segments)}`;
      return path;
    };
    for (let round = 0; round < 3000; round += 1) {
      const id = `r${random.below(25)}`;
      const type = random.pick(["exact_path", "path_prefix"]);
      const match = randomPath();
      const taken = [...model].some(([other, its]) => other !== id && its.type === type && its.match === match);
      if (random() < 0.3) {
        change(gone("https_edge_route", id));
        model.delete(id);
      } else if (!taken) {
        change(put(route(id, "e", type, match)));
        model.set(id, { type, match });
      }
      for (let probe = 0; probe < 4; probe += 1) {
        const path = randomPath();
        assert.equal(
          httpsSite(table, "h")?.findRoute(path, "h")?.id,
          scan(model, path),
          `${path} in ${JSON.stringify([...model])}`,
        );
      }
    }
  });

  it("routing table finds the same edges as a scan of all host names, through random changes", () => {
    const random = seededRandom(6);
    const { table, change } = tableWith([]);
    const model = new Map<string, string[]>();
    const name = (): string =>
      Array.from({ length: 1 + random.below(3) }, () => random.pick(["a", "b", "c"])).join(".");
    for (let round = 0; round < 2000; round += 1) {
      const id = `e${random.below(8)}`;
      const hosts = [...new Set([random() < 0.5 ? name() : `*.${name()}`, name()])];
      const held = [...model].some(([other, its]) => other !== id && its.some((host) => hosts.includes(host)));
      if (random() < 0.2) {
        change(gone("https_edge", id));
        model.delete(id);
      } else if (!held) {
        change(put(edge(id, hosts)));
        model.set(id, hosts);
      }
      const host = name();
      const best = [...model]
        .flatMap(([its, names]) => names.map((one) => ({ its, one })))
        .filter(({ one }) => one === host || (one.startsWith("*.") && host.endsWith(one.slice(1))))
        .sort((x, y) => Number(y.one === host) - Number(x.one === host) || y.one.length - x.one.length)[0];
      assert.equal(httpsSite(table, host)?.id, best?.its, host);
    }
  });

  it("routing table applies a change immediately and does not modify what current requests use", () => {
    const { table, change } = tableWith([
      edge("e", ["h"]),
      group("b1"),
      group("b2"),
      route("r", "e", "path_prefix", "/", to("b1")),
    ]);
    const held = httpsSite(table, "h")?.findRoute("/", "h");
    change(put(route("r", "e", "path_prefix", "/", to("b2"))));
    assert.equal(held?.upstream?.id, "b1");
    assert.equal(httpsSite(table, "h")?.findRoute("/", "h")?.upstream?.id, "b2");
    change(put(group("b2", { app: "other" })));
    const { upstream } = httpsSite(table, "h")?.findRoute("/", "h") ?? {};
    assert.deepEqual(upstream?.kind === "tunnel_group" && upstream.labels, { app: "other" });
  });

  it("R6: routing table closes a route whose module does not compile, and no other", () => {
    const { table, problems, change } = tableWith([
      edge("e", ["h"]),
      group("b"),
      route("r1", "e", "path_prefix", "/", to("b")),
      route("r2", "e", "path_prefix", "/x", to("missing")),
    ]);
    const site = httpsSite(table, "h");
    assert.deepEqual(
      problems.map(({ kind, id, module }) => [kind, id, module]),
      [["https_edge_route", "r2", "backend"]],
    );
    assert.match(site?.findRoute("/x", "h")?.problem?.message ?? "", /"missing": it does not exist/);
    assert.equal(site?.findRoute("/x", "h")?.upstream, undefined);
    assert.equal(site?.findRoute("/", "h")?.problem, undefined);
    assert.deepEqual(
      change(put(group("missing"))).map(({ id, message }) => [id, message]),
      [["r2", undefined]],
    );
    assert.equal(site?.findRoute("/x", "h")?.upstream?.id, "missing");
    assert.equal(change(gone("tunnel_group_backend", "missing"))[0]?.id, "r2");
    assert.notEqual(site?.findRoute("/x", "h")?.problem, undefined);
    assert.equal(change(gone("https_edge_route", "r2"))[0]?.message, undefined);
    assert.equal(site?.findRoute("/x", "h")?.id, "r1");
  });

  it("R6: routing table closes a route with a module unknown to this server, unless the module is disabled", () => {
    const { table } = tableWith([
      edge("e", ["h"]),
      route("r1", "e", "path_prefix", "/on", { telepathy: { enabled: true } }),
      route("r2", "e", "path_prefix", "/off", { telepathy: { enabled: false } }),
    ]);
    assert.equal(httpsSite(table, "h")?.findRoute("/on", "h")?.problem?.module, "telepathy");
    assert.equal(httpsSite(table, "h")?.findRoute("/off", "h")?.problem, undefined);
  });

  it("P1: routing table never compiles another account's object into a route", () => {
    const { table } = tableWith([
      edge("e", ["h"]),
      group("b", {}, "ac_2"),
      route("r", "e", "path_prefix", "/", to("b")),
      object("https_edge_route", "stray", { edge_id: "e", match_type: "path_prefix", match: "/stray" }, "ac_2"),
    ]);
    assert.notEqual(httpsSite(table, "h")?.findRoute("/", "h")?.problem, undefined);
    assert.equal(httpsSite(table, "h")?.findRoute("/stray", "h")?.id, "r");
  });

  it("R5: routing table serves a contested host with its holder, reports the other edge, and transfers the host when it is free", () => {
    const { table, problems, change } = tableWith([edge("e1", ["h"]), edge("e2", ["h", "i"])]);
    assert.match(problems[0]?.message ?? "", /serve "h": https_edge e1 holds it/);
    assert.equal(httpsSite(table, "h")?.id, "e1");
    assert.equal(httpsSite(table, "i")?.id, "e2");
    assert.equal(httpsSite(table, "i")?.problem, undefined);
    const cleared = change(put(edge("e1", ["j"])));
    assert.deepEqual(
      cleared.map(({ id, message }) => [id, message]),
      [["e2", undefined]],
    );
    assert.equal(httpsSite(table, "h")?.id, "e2");
  });

  it("R5: a wildcard never takes a name that another account reserved", () => {
    const { table } = tableWith([
      edge("e", ["*.example.com"]),
      object("reserved_domain", "rd1", { domain: "theirs.example.com" }, "ac_2"),
      object("reserved_domain", "rd2", { domain: "*.apps.example.com" }, "ac_2"),
      object("reserved_domain", "rd3", { domain: "ours.example.com" }),
    ]);
    assert.equal(httpsSite(table, "theirs.example.com"), undefined);
    assert.equal(httpsSite(table, "x.apps.example.com"), undefined);
    assert.equal(httpsSite(table, "ours.example.com")?.id, "e");
    assert.deepEqual(table.hostHolder("theirs.example.com"), { kind: "reserved_domain", id: "rd1", accountId: "ac_2" });
    assert.equal(table.hostHolder("x.apps.example.com")?.id, "rd2");
    assert.equal(table.hostHolder("y.example.com")?.id, "e");
    assert.equal(table.hostHolder("example.com"), undefined);
  });

  it("routing table moves a host name from one edge to another within one change", () => {
    for (const order of [0, 1]) {
      const { table, change } = tableWith([edge("e1", ["h"]), edge("e2", ["i"])]);
      const swap = [put(edge("e1", ["i"])), put(edge("e2", ["h"]))];
      assert.deepEqual(change(...(order === 0 ? swap : swap.reverse())), []);
      assert.equal(httpsSite(table, "h")?.id, "e2");
      assert.equal(httpsSite(table, "i")?.id, "e1");
    }
  });

  it("routing table serves TLS and TCP edges, and no TLS edge as an HTTPS edge", () => {
    const { table, change } = tableWith([
      group("b"),
      object("tls_edge", "t", { hostports: ["t.example.com:443"], ...to("b") }),
      object("tcp_edge", "c", { hostports: ["127.0.0.1:5432"], ...to("b") }),
    ]);
    assert.equal(httpsSite(table, "t.example.com"), undefined);
    assert.equal(tlsSite(table, "t.example.com")?.upstream?.id, "b");
    assert.deepEqual(
      [...table.tcpSites()].map(({ hostports }) => hostports),
      [["127.0.0.1:5432"]],
    );
    change(gone("tcp_edge", "c"));
    assert.deepEqual([...table.tcpSites()], []);
  });

  it("K5: a credential is inactive when its owner is inactive", () => {
    const { table, change } = tableWith([
      object("credential", "cr1", { token_hash: "00ff", fingerprint: "f1", acl: ["*"], owner_id: "bot_1" }),
      object("credential", "cr2", { token_hash: "aa", fingerprint: "f2", acl: [], owner_id: "" }),
      object("bot_user", "bot_1", { active: true }),
    ]);
    assert.equal(table.credential("f1")?.active, true);
    assert.deepEqual(table.credential("f1")?.tokenHash, Buffer.from([0, 255]));
    assert.equal(table.credential("f2")?.active, true);
    const seen: string[][] = [];
    table.subscribe(({ credentialIds }) => seen.push([...credentialIds]));
    change(put(object("bot_user", "bot_1", { active: false })));
    assert.equal(table.credential("f1")?.active, false);
    change(gone("bot_user", "bot_1"));
    assert.equal(table.credential("f1")?.active, false);
    change(gone("credential", "cr1"));
    assert.equal(table.credential("f1"), undefined);
    assert.deepEqual(seen, [["cr1"], ["cr1"], ["cr1"]]);
  });

  it("routing table reports the sites that changed, but not for a change of a route", () => {
    const { table, change } = tableWith([edge("e1", ["h"]), edge("e2", ["i"]), route("r", "e1", "path_prefix", "/")]);
    const seen: [string[], string[]][] = [];
    table.subscribe(({ siteIds, kinds }) => seen.push([[...siteIds], [...kinds]]));
    const before = httpsSite(table, "h");
    change(put(route("r", "e1", "path_prefix", "/x")));
    assert.equal(httpsSite(table, "h"), before);
    change(put(edge("e2", ["j"])));
    change(gone("https_edge", "e1"));
    assert.deepEqual(seen, [
      [[], ["https_edge_route"]],
      [["e2"], ["https_edge"]],
      [["e1"], ["https_edge"]],
    ]);
    assert.equal(httpsSite(table, "h"), undefined);
  });

  it("loading a routing table with its present content changes nothing, and loading other content replaces it", () => {
    const objects = [edge("e", ["h"]), group("b"), route("r", "e", "path_prefix", "/", to("b"))];
    const { table } = tableWith(objects);
    const site = httpsSite(table, "h");
    const held = site?.findRoute("/", "h");
    table.load(lastRevision, structuredClone(objects));
    assert.equal(httpsSite(table, "h"), site);
    assert.equal(site?.findRoute("/", "h"), held);
    const [first, ...rest] = objects as [ResourceObject, ...ResourceObject[]];
    table.load(lastRevision, [{ ...first, doc: { ...first.doc, hostports: ["i:443"] } }, ...rest]);
    assert.equal(httpsSite(table, "h"), undefined);
    assert.equal(httpsSite(table, "i")?.findRoute("/", "h")?.id, "r");
    assert.deepEqual(table.load(lastRevision, []), []);
    assert.equal(httpsSite(table, "i"), undefined);
    assert.equal(table.object("tunnel_group_backend", "b"), undefined);
  });

  describe("modules of the routing table", () => {
    let made = 0;
    let computed = 0;
    const counting = defineModule({
      name: "counting",
      schemaName: "Counting",
      on: ["https_edge", "https_route"],
      doc: "Counts.",
      acts: { request: [] },
      fields: { size: f.uint32("Size.") },
      compile({ size }, scope) {
        const state = scope.keep(`counting ${scope.ownerId} ${size}`, () => ({ id: (made += 1) }));
        const rules = scope.shared("rules", (look) => {
          computed += 1;
          const found = look.children("ip_policy_rule", "p");
          if (found.some(({ doc }) => doc["broken"] === true)) throw new Error("read the rules: one is broken");
          return found.length;
        });
        const step = passStep("counting", `${state.id} ${rules}`);
        return { request: () => step };
      },
    }) as unknown as ModuleDeclaration;

    const counted = (id: string, match: string, size = 1) =>
      route(id, "e", "path_prefix", match, { counting: { enabled: true, size } });
    const rule = (id: string, doc: Record<string, unknown> = {}) =>
      object("ip_policy_rule", id, { ip_policy_id: "p", ...doc });

    /** Returns the results of the route's request hooks. */
    function said({ table }: ReturnType<typeof tableWith>, path: string): string[] {
      const found = httpsSite(table, "h")?.findRoute(path, "h");
      return (found?.request ?? []).map((module) => {
        const step = module.request?.({} as never);
        return step && "reason" in step ? step.reason : "";
      });
    }

    it("modules of the routing table keep state over unrelated changes, and lose it when no module requests it", () => {
      made = 0;
      const set = tableWith([edge("e", ["h"]), counted("r", "/")], [counting]);
      assert.deepEqual(said(set, "/"), ["1 0"]);
      set.change(put(counted("r", "/x")));
      set.table.load(lastRevision, [edge("e", ["h"]), counted("r", "/")]);
      assert.deepEqual(said(set, "/"), ["1 0"]);
      set.change(put(counted("r", "/", 2)));
      assert.deepEqual(said(set, "/"), ["2 0"]);
      set.change(put(counted("r", "/", 1)));
      assert.deepEqual(said(set, "/"), ["3 0"]);
      set.change(gone("https_edge_route", "r"));
      set.change(put(counted("r", "/", 1)));
      assert.deepEqual(said(set, "/"), ["4 0"]);
    });

    it("modules of the routing table compute shared values once, and again after a change of a dependency", () => {
      computed = 0;
      const set = tableWith([edge("e", ["h"]), rule("ipr_1"), counted("r1", "/1"), counted("r2", "/2")], [counting]);
      assert.equal(computed, 1);
      set.change(put(rule("ipr_2")));
      assert.equal(computed, 2);
      assert.match(said(set, "/1").join(), / 2$/);
      assert.match(said(set, "/2").join(), / 2$/);
      const problems = set.change(put(rule("ipr_2", { broken: true })));
      assert.deepEqual(problems.map(({ id }) => id).sort(), ["r1", "r2"]);
      assert.deepEqual(said(set, "/1"), []);
      assert.equal(set.change(gone("ip_policy_rule", "ipr_2")).length, 2);
      assert.match(said(set, "/2").join(), / 1$/);
      set.change(gone("https_edge_route", "r1"), gone("https_edge_route", "r2"));
      set.change(put(rule("ipr_3")));
      assert.equal(computed, 4);
    });

    it("modules of the routing table on an edge run their request hooks before those of each of its routes", () => {
      made = 0;
      const on = { counting: { enabled: true, size: 9 } };
      const set = tableWith([counted("r", "/"), edge("e", ["h"], on)], [counting]);
      assert.equal(said(set, "/").length, 2);
      set.change(put(edge("e", ["h"])));
      assert.equal(said(set, "/").length, 1);
      set.change(put(edge("e", ["h"], on)));
      assert.equal(said(set, "/").length, 2);
    });

    it("R6: modules of the routing table close an edge if its own module does not compile", () => {
      const on = { counting: { enabled: true, size: 9 } };
      const { table, problems } = tableWith([rule("ipr_1", { broken: true }), edge("e", ["h"], on)], [counting]);
      assert.equal(problems[0]?.kind, "https_edge");
      assert.equal(httpsSite(table, "h")?.problem?.module, "counting");
    });
  });
});

function scan(routes: ReadonlyMap<string, { type: string; match: string }>, path: string): string | undefined {
  const trimmed = (text: string): string => (text.endsWith("/") ? text.slice(0, -1) : text);
  let best: { id: string; length: number; score: number } | undefined;
  for (const [id, { type, match }] of routes) {
    const base = trimmed(match);
    const covers = type === "exact_path" ? path === match : path === base || path.startsWith(`${base}/`);
    if (!covers) continue;
    // Of `/foo` and `/foo/`, prefer the one whose trailing slash is as in the path.
    const score = Number(match.endsWith("/") === path.startsWith(`${base}/`));
    const length = type === "exact_path" ? Infinity : base.length;
    if (!best || length > best.length || (length === best.length && score > best.score)) best = { id, length, score };
  }
  return best?.id;
}
