/** Matches of routes: those that no request can have are refused wherever they are written. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { modules } from "../../src/modules/index.ts";
import { resources } from "../../src/resources/index.ts";
import { emptyDoc } from "../../src/schema/doc.ts";
import type { ResourceDeclaration } from "../../src/schema/resource.ts";
import type { Store } from "../../src/storage/store.ts";
import { startApi } from "../support/api.ts";
import type { ApiResponse, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

const refused: Readonly<Record<string, RegExp>> = {
  "/s%2ft": /encoded slash/,
  "/%zz": /percent sign/,
  "/a\\b": /backslash/,
  "/x/..;y/z": /parameters/,
  "/%ff": /UTF-8/,
  "/a b": /ASCII/,
  "/a?b": /query/,
  "app.example.com:443/x": /without a port/,
  "bücher.example/x": /punycode/,
  "b.example.com": /no hostport covers "b\.example\.com": they are for "app\.example\.com", "\*\.w\.example\.com"/,
  "*.example.com/x": /no hostport covers/,
  api: /no hostport covers "api"/,
};
const taken: Readonly<Record<string, string>> = {
  "/p|q": "/p%7Cq",
  "/x/../y": "/y",
  "/@admin": "/%40admin",
  "App.example.com/x": "app.example.com./%78",
  "*.w.example.com": "*.W.example.com/",
  "a.w.example.com/": "a.w.example.com",
};

/** State of an earlier version: a route whose match no request can have, and a second write. */
async function seed(store: Store): Promise<void> {
  const account = store.accounts()[0]?.id as string;
  const context = { principal: { accountId: account, id: "system" }, operation: "seed", operationId: "op_seed" };
  const edge = resources.find(({ name }) => name === "https_edge") as ResourceDeclaration;
  const route = resources.find(({ name }) => name === "https_edge_route") as ResourceDeclaration;
  const { result } = await store.write(context, (draft) => {
    const { id } = draft.create(account, "https_edge", emptyDoc(edge.fields));
    const none = Object.fromEntries(
      modules.filter(({ on }) => on.includes("https_route")).map(({ name }) => [name, null]),
    );
    const doc = { ...emptyDoc(route.fields), ...none, edge_id: id, match_type: "path_prefix", match: "/s%2ft" };
    return draft.create(account, "https_edge_route", doc);
  });
  await store.write(context, (draft) => draft.delete(result));
}

for (const database of databases) {
  describe(`the match of a route on ${database.name}`, () => {
    let api: TestApi;
    let path: string;
    before(async () => {
      api = await startApi(database, { seed });
      const { id } = await api.ok("POST", "/edges/https", {
        hostports: ["app.example.com:443", "*.w.example.com:443"],
      });
      path = `/edges/https/${id}/routes`;
    });
    after(() => api.stop());
    const detail = (answer: ApiResponse, code: string, field: string, why: RegExp): void => {
      assert.deepEqual([answer.status, answer.body.error_code], [400, code], answer.text);
      assert.match(String(answer.body.details[field]), why);
    };

    it(`R1: the match of a route on ${database.name} is refused by name when no request can have it, when created, changed, planned and applied`, async () => {
      const present = await api.ok("POST", path, { match_type: "path_prefix", match: "/present" });
      for (const [match, why] of Object.entries(refused)) {
        const body = { match_type: "path_prefix", match };
        detail(await api.request("POST", path, { body }), errorCode("match_invalid"), "match", why);
        detail(
          await api.request("PATCH", `${path}/${present.id}`, { body: { match } }),
          errorCode("match_invalid"),
          "match",
          why,
        );
        const objects = {
          https_edge: { e: { hostports: ["x.example.com:443"] } },
          https_edge_route: { r: { edge_id: "e", ...body } },
        };
        for (const operation of ["/plan", "/apply"]) {
          const answer = await api.request("POST", operation, { body: { document: "d", objects } });
          detail(
            answer,
            errorCode("match_invalid"),
            "objects.https_edge_route.r.match",
            new RegExp(why.source.split(":")[0] as string),
          );
        }
      }
      assert.equal((await api.ok("GET", `${path}/${present.id}`)).match, "/present");
    });

    it(`the match of a route on ${database.name} is returned as it was sent, and its spellings count as one`, async () => {
      for (const [match, other] of Object.entries(taken)) {
        for (const match_type of ["path_prefix", "exact_path"]) {
          const route = await api.ok("POST", path, { match_type, match });
          assert.equal((await api.ok("GET", `${path}/${route.id}`)).match, match);
          const again = await api.request("POST", path, { body: { match_type, match: other } });
          assert.deepEqual([again.status, again.body.error_code], [409, errorCode("route_exists")], other);
          assert.equal(again.body.details.holder_id, route.id);
          const respelled = await api.ok("PATCH", `${path}/${route.id}`, { match: other });
          assert.equal(respelled.match, other);
        }
      }
    });

    it(`the match of a route on ${database.name} may name a host that the same document gives to the edge`, async () => {
      const objects = {
        https_edge_route: { r: { edge_id: "e", match_type: "path_prefix", match: "new.example.com/x" } },
        https_edge: { e: { hostports: ["new.example.com:443"] } },
      };
      assert.equal((await api.request("POST", "/apply", { body: { document: "d", objects } })).status, 200);
    });

    it(`the match of a route on ${database.name} may be changed in everything else after its edge has given up the host`, async () => {
      const edge = await api.ok("POST", "/edges/https", { hostports: ["up.example.com:443"] });
      const route = await api.ok("POST", `/edges/https/${edge.id}/routes`, {
        match_type: "path_prefix",
        match: "up.example.com",
      });
      await api.ok("PATCH", `/edges/https/${edge.id}`, { hostports: ["down.example.com:443"] });
      const one = `/edges/https/${edge.id}/routes/${route.id}`;
      assert.equal((await api.ok("PATCH", one, { description: "kept" })).match, "up.example.com");
      const answer = await api.request("PATCH", one, { body: { match: "up.example.com/x" } });
      detail(answer, errorCode("match_invalid"), "match", /no hostport covers/);
    });

    it(`R1: the match of a route on ${database.name} is not brought back by a rollback when no request can have it`, async () => {
      const { revisions } = await api.ok("GET", "/revisions?limit=100&operation=seed");
      const made = Math.min(...revisions.map(({ revision }: { revision: number }) => revision));
      const answer = await api.request("POST", `/revisions/${made}/rollback?dry_run=true`);
      detail(answer, errorCode("match_invalid"), "match", /encoded slash/);
      assert.equal((await api.request("POST", `/revisions/${made}/rollback`)).status, 400);
    });
  });
}
