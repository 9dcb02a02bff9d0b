import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../../test/support/random.ts";
import { httpsSite, tableOf } from "../../../test/support/routing.ts";
import { canonicalPath } from "../../lib/canonical-path.ts";
import { hostMatches } from "../../lib/hostport.ts";
import { readRouteMatch } from "../../lib/route-match.ts";
import type { RouteMatch } from "../../lib/route-match.ts";

function setUp(hostports: readonly string[] = ["*.example.com:443", "example.com:443"]) {
  const { table, put } = tableOf();
  const edge = (given: readonly string[]) => put({ kind: "https_edge", id: "e", doc: { hostports: given } });
  const route = (id: string, match: string, match_type = "path_prefix") =>
    put({ kind: "https_edge_route", id, doc: { edge_id: "e", match_type, match } });
  const gone = (id: string) => put({ kind: "https_edge_route", id, gone: true });
  const found = (path: string, host = "example.com") => httpsSite(table, host)?.findRoute(path, host);
  edge(hostports);
  return { table, edge, route, gone, found };
}

describe("routes with hosts", () => {
  it("routes with hosts precede wildcards, longer before shorter, and those precede routes without a host", () => {
    const { route, found } = setUp();
    route("any", "/");
    route("any-exact", "/x", "exact_path");
    route("wide", "*.example.com");
    route("wide-x", "*.example.com/x/y");
    route("narrow", "*.b.example.com/x");
    route("one", "a.b.example.com/x/z");
    assert.equal(found("/x")?.id, "any-exact");
    assert.equal(found("/x", "c.example.com")?.id, "wide");
    assert.equal(found("/x/y/z", "c.example.com")?.id, "wide-x");
    assert.equal(found("/x/y", "c.b.example.com")?.id, "narrow");
    assert.equal(found("/y", "c.b.example.com")?.id, "wide");
    assert.equal(found("/x/z/1", "a.b.example.com")?.id, "one");
    assert.equal(found("/x/y", "a.b.example.com")?.id, "narrow");
    assert.equal(found("/", "a.b.example.com")?.id, "wide");
  });

  it("routes with hosts match as in a scan of all routes, through random changes", () => {
    const random = seededRandom(15);
    const { route, gone, found } = setUp();
    const hosts = ["", "", "example.com", "a.example.com", "b.a.example.com", "*.example.com", "*.a.example.com"];
    const names = ["example.com", "a.example.com", "b.a.example.com", "c.b.a.example.com", "d.example.com"];
    const paths = ["/", "/x", "/x/", "/x/y", "/%78", "/@", "/%40", "/|", "/%7c", "/x/../@"];
    const model = new Map<string, RouteMatch & { type: string }>();
    for (let round = 0; round < 2000; round += 1) {
      const id = `r${random.below(20)}`;
      const type = random.pick(["exact_path", "path_prefix"]);
      const match = random.pick(hosts) + random.pick(paths);
      const read = readRouteMatch(match) as RouteMatch;
      const same = (one: RouteMatch & { type: string }): boolean =>
        one.type === type && one.host === read.host && one.path === read.path;
      const taken = [...model].some(([other, one]) => other !== id && same(one));
      if (random() < 0.3) {
        gone(id);
        model.delete(id);
      } else if (!taken) {
        assert.deepEqual(route(id, match, type), []);
        model.set(id, { ...read, type });
      }
      for (let probe = 0; probe < 4; probe += 1) {
        const [name, path] = [random.pick(names), canonicalPath(random.pick(paths)) as string];
        assert.equal(found(path, name)?.id, scan(model, path, name), `${name}${path} in ${JSON.stringify([...model])}`);
      }
    }
  });

  it("routes with hosts have a problem while no hostport of their edge covers the host, and match again after one does", () => {
    const { edge, route, found } = setUp();
    route("any", "/");
    assert.deepEqual(route("one", "a.example.com/x"), []);
    assert.equal(found("/x", "a.example.com")?.problem, undefined);
    const [problem] = edge(["example.com:443"]);
    assert.deepEqual([problem?.id, problem?.kind], ["one", "https_edge_route"]);
    assert.match(problem?.message ?? "", /none covers "a\.example\.com"/);
    const [cleared] = edge(["a.example.com:8443"]);
    assert.deepEqual([cleared?.id, cleared?.message], ["one", undefined]);
    assert.equal(found("/x", "a.example.com")?.id, "one");
    assert.equal(found("/x", "a.example.com")?.problem, undefined);
  });
});

describe("R1: a stored match that no request can have", () => {
  const cases: readonly (readonly [match: string, closed: readonly string[], open: readonly string[]])[] = [
    ["/s%2ft", ["/s/t", "/s/t/u"], ["/s", "/st"]],
    ["/s%5Ct", ["/s/t"], ["/s"]],
    ["/s\\t", ["/s/t"], ["/s"]],
    ["/s%00.html", ["/s", "/s/x"], ["/t"]],
    ["/%zz", ["/%25zz"], ["/zz"]],
    ["/%e9t", ["/%C3%A9t"], ["/t"]],
    ["/x/..;v=1/admin", ["/admin"], ["/x"]],
    ["/x/%2e%2e/admin", ["/admin/x"], ["/x/admin"]],
  ];
  for (const [match, closed, open] of cases) {
    it(`R1: a stored match that no request can have is a problem and closes the lenient reading of "${match}" to wider routes`, () => {
      const { route, gone, found } = setUp();
      route("any", "/");
      const [problem] = route("r", match);
      assert.match(problem?.message ?? "", /canonical form/);
      for (const path of closed) assert.notEqual(found(path)?.problem, undefined, path);
      for (const path of open) assert.equal(found(path)?.problem, undefined, path);
      gone("r");
      for (const path of closed) assert.equal(found(path)?.id, "any", path);
    });
  }

  it("R1: a stored match that no request can have loses its place to the route with the valid match, whichever came first", () => {
    const { route, gone, found } = setUp();
    for (const order of [0, 1]) {
      const puts = [() => route("r", "/s%2ft"), () => route("meant", "/s/t")];
      if (order === 1) puts.reverse();
      for (const one of puts) one();
      assert.equal(found("/s/t")?.id, "meant");
      assert.equal(found("/s/t")?.problem, undefined);
      gone("meant");
      assert.equal(found("/s/t")?.id, "r");
      assert.notEqual(found("/s/t")?.problem, undefined);
      gone("r");
      assert.equal(found("/s/t"), undefined);
    }
  });

  it("R1: a stored match that no request can have closes a place shared by several stored routes, until one is left", () => {
    const { route, gone, found } = setUp();
    route("any", "/");
    assert.deepEqual(route("one", "/p|q"), []);
    const [problem] = route("two", "/p%7cq");
    assert.match(problem?.message ?? "", /route one of the edge has the same match, so both are disabled/);
    route("three", "/x/../p%7Cq");
    assert.notEqual(found("/p%7Cq/x")?.problem, undefined);
    gone("three");
    assert.notEqual(found("/p%7Cq/x")?.problem, undefined);
    route("one", "/p|q");
    assert.notEqual(found("/p%7Cq/x")?.problem, undefined);
    gone("one");
    assert.equal(found("/p%7Cq/x")?.id, "two");
    assert.equal(found("/p%7Cq/x")?.problem, undefined);
    route("one", "/p{");
    assert.equal(found("/p%7B")?.id, "one");
    assert.equal(found("/p%7Cq/x")?.id, "two");
  });
});

function scan(
  model: ReadonlyMap<string, RouteMatch & { type: string }>,
  path: string,
  name: string,
): string | undefined {
  const bare = (text: string): string => (text.endsWith("/") ? text.slice(0, -1) : text);
  const ranked = [...model]
    .filter(([, { host }]) => host === "" || hostMatches(host, name))
    .filter(([, one]) =>
      one.type === "exact_path" ? one.path === path : path === bare(one.path) || path.startsWith(`${bare(one.path)}/`),
    )
    .map(([id, one]) => ({
      id,
      rank: [rankOf(one.host), one.type === "exact_path" ? 1 : 0, ...depthOf(one.path, path)],
    }));
  ranked.sort((one, other) => compare(other.rank, one.rank));
  return ranked[0]?.id;
}

function rankOf(host: string): number {
  if (host === "") return 0;
  return host.startsWith("*.") ? host.length : 1000;
}

/** Longest first. Of `/x` and `/x/`, the one whose trailing slash is as in the path. */
function depthOf(prefix: string, path: string): readonly number[] {
  const isSlashed = prefix.endsWith("/");
  const bare = isSlashed ? prefix.slice(0, -1) : prefix;
  return [bare.length, path.length > bare.length === isSlashed ? 1 : 0];
}

function compare(one: readonly number[], other: readonly number[]): number {
  for (const [at, value] of one.entries()) if (value !== other[at]) return value - (other[at] as number);
  return 0;
}
