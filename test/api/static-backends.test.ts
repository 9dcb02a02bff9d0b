/** Static backends at addresses that nothing is sent to: refused wherever they are written. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { resources } from "../../src/resources/index.ts";
import type { ResourceDeclaration } from "../../src/schema/resource.ts";
import { emptyDoc } from "../../src/schema/doc.ts";
import type { Store } from "../../src/storage/store.ts";
import { startApi } from "../support/api.ts";
import type { ApiResponse, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

const local: Readonly<Record<string, RegExp>> = {
  "127.0.0.1:80": /"127\.0\.0\.1" is a loopback address/,
  "[::1]:80": /"::1" is a loopback address/,
  "[::ffff:127.0.0.1]:80": /loopback/,
  "[64:ff9b::7f00:1]:80": /loopback/,
  "169.254.169.254:80": /link-local/,
  "[fe80::1]:80": /link-local/,
  "100.100.100.200:80": /metadata service of a cloud/,
  "[fd00:ec2::254]:80": /metadata service of a cloud/,
};
const never: Readonly<Record<string, RegExp>> = {
  "0.0.0.0:80": /unspecified/,
  "[::]:80": /unspecified/,
  "224.0.0.1:80": /multicast/,
  "[ff02::1]:80": /multicast/,
  "255.255.255.255:80": /broadcast/,
};
const fine = ["192.0.2.1:80", "10.0.0.5:8080", "[2001:db8::1]:80", "localhost:80", "backend.example.com:443"];

/** State of an earlier version, which then deleted it. */
async function seed(store: Store): Promise<void> {
  const account = store.accounts()[0]?.id as string;
  const context = { principal: { accountId: account, id: "system" }, operation: "seed", operationId: "op_seed" };
  const { fields } = resources.find(({ name }) => name === "static_backend") as ResourceDeclaration;
  const doc = { ...emptyDoc(fields), address: "127.0.0.1:80", tls: { enabled: false } };
  const { result } = await store.write(context, (draft) => draft.create(account, "static_backend", doc));
  await store.write(context, (draft) => draft.delete(result));
  await store.write(context, (draft) => draft.create(account, "static_backend", { ...doc, address: "127.0.0.2:80" }));
}

for (const database of databases) {
  describe(`the address of a static backend on ${database.name}`, () => {
    let api: TestApi;
    let lenient: TestApi;
    before(async () => {
      api = await startApi(database, { seed });
      lenient = await startApi(database, { allowLocalUpstreams: true });
    });
    after(async () => {
      await api.stop();
      await lenient.stop();
    });
    const fails = (answer: ApiResponse, field: string, why: RegExp): void => {
      assert.deepEqual([answer.status, answer.body.error_code], [400, errorCode("address_forbidden")], answer.text);
      assert.match(String(answer.body.details[field]), why);
    };

    it(`I7: the address of a static backend on ${database.name} is checked when it is created, changed, planned and applied`, async () => {
      const present = await api.ok("POST", "/backends/static", { address: "192.0.2.1:80" });
      for (const [address, why] of Object.entries({ ...local, ...never })) {
        fails(await api.request("POST", "/backends/static", { body: { address } }), "address", why);
        fails(await api.request("PATCH", `/backends/static/${present.id}`, { body: { address } }), "address", why);
        const body = { document: "d", objects: { static_backend: { b: { address } } } };
        for (const path of ["/plan", "/apply"]) {
          fails(await api.request("POST", path, { body }), "objects.static_backend.b.address", why);
        }
        const fix = address in local ? /--allow-local-upstreams/ : /use another address/;
        fails(await api.request("POST", "/backends/static", { body: { address } }), "address", fix);
      }
      for (const address of fine) await api.ok("POST", "/backends/static", { address });
    });

    it(`I7: the address of a static backend on ${database.name} may be local where the operator allows it, and never multicast or unspecified`, async () => {
      for (const address of [...Object.keys(local), ...fine]) await lenient.ok("POST", "/backends/static", { address });
      for (const [address, why] of Object.entries(never)) {
        fails(await lenient.request("POST", "/backends/static", { body: { address } }), "address", why);
      }
    });

    it(`I7: a forbidden address of a static backend on ${database.name} is not restored by a rollback, and an old one can be changed in everything else`, async () => {
      const { revisions } = await api.ok("GET", "/revisions?limit=100&operation=seed");
      const made = Math.min(...revisions.map(({ revision }: { revision: number }) => revision));
      fails(await api.request("POST", `/revisions/${made}/rollback`), "address", /loopback/);
      const { backends } = await api.ok("GET", "/backends/static?limit=100");
      const stored = backends.find(({ address }: { address: string }) => address === "127.0.0.2:80");
      assert.equal((await api.ok("PATCH", `/backends/static/${stored.id}`, { description: "x" })).description, "x");
    });
  });
}
