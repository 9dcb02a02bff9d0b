/** What is in use is not deleted: every reference of every declaration, and names that are served. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { modulesOf, resourceNamed, resources } from "../../src/api/operation/resource-declarations.ts";
import { describedOperations } from "../../src/api/operations.ts";
import { errorCode } from "../../src/lib/errors.ts";
import type { Field, Fields } from "../../src/schema/fields.ts";
import type { ResourceDeclaration } from "../../src/schema/resource.ts";
import { startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";
import { makeWorld, seedWorld } from "../support/world.ts";
import type { World } from "../support/world.ts";

interface ReferenceField {
  readonly resource: ResourceDeclaration;
  /** The module that has it, where it is not the resource's own. */
  readonly block?: string;
  /** Its name in requests. */
  readonly input: string;
  readonly to: readonly string[];
  given(id: string): unknown;
}

/** Every reference that a request can set. */
const referenceFields: readonly ReferenceField[] = resources.flatMap((resource) => {
  if (resource.live || resource.internal || resource.operations?.includes("create") === false) return [];
  const blocks = modulesOf(resource).map(([{ name }, { fields }]) => ({ fields, block: name }));
  return [{ fields: resource.fields }, ...blocks].flatMap((part) => fieldsOf(resource, part));
});

function fieldsOf(
  resource: ResourceDeclaration,
  { fields, block }: { readonly fields: Fields; readonly block?: string },
): ReferenceField[] {
  const shared = { resource, ...(block !== undefined && { block }) };
  return Object.entries(fields).flatMap(([name, field]: [string, Field]): ReferenceField[] => {
    if (field.live || field.readOnly || field.internal) return [];
    if (field.type === "map" && field.keysTo) {
      return [{ ...shared, input: name, to: field.keysTo, given: (id) => ({ [id]: 1 }) }];
    }
    if (field.type === "ref") return [{ ...shared, input: field.input, to: field.to, given: (id) => id }];
    return field.type === "refList" ? [{ ...shared, input: field.input, to: field.to, given: (id) => [id] }] : [];
  });
}

const operations = describedOperations();
const policy = "on_tcp_connect:\n  - actions:\n      - type: deny";

for (const database of databases) {
  describe(`deletes on ${database.name}`, () => {
    let api: TestApi;
    let world: World;
    before(async () => {
      api = await startApi(database, { seed: seedWorld });
      world = makeWorld(api);
    });
    after(() => api.stop());

    const remove = (path: string) => api.request("DELETE", path);
    const pathOf = ({ kind, id }: { readonly kind: string; readonly id: string }): string =>
      `${resourceNamed(kind).path}/${id}`;
    async function assertHeld(path: string, holder: Body): Promise<void> {
      const { status, body } = await remove(path);
      assert.deepEqual([status, body.error_code], [409, errorCode("in_use")], `${path}: ${JSON.stringify(body)}`);
      assert.deepEqual([body.details.referrer_id, body.details.referrer_uri], [holder.id, holder.uri]);
      assert.equal((await api.request("GET", path)).status, 200);
    }

    /** An object of the resource whose reference is to `id`. */
    async function refer({ resource, block, input, given }: ReferenceField, id: string): Promise<Body> {
      const operation = operations.find(
        (one) =>
          one.resource?.name === resource.name &&
          (block ? one.block === block && one.method === "PUT" : one.verb === "create"),
      );
      assert.ok(operation);
      const { path, body } = await world.callFor(operation);
      const made = await api.ok(operation.method, path, { ...body, [input]: given(id) });
      return block === undefined ? made : await api.ok("GET", path.slice(0, -block.length - 1));
    }

    it(`the operations that delete have all the references that these tests are about, on ${database.name}`, () => {
      const found = new Set(referenceFields.map(({ resource, block, input }) => `${block ?? resource.name}.${input}`));
      for (const one of [
        "backend.backend_id",
        "mutual_tls.certificate_authority_ids",
        "ip_restriction.ip_policy_ids",
      ]) {
        assert.ok(found.has(one), one);
      }
      for (const one of ["reserved_domain.certificate_id", "weighted_backend.backends", "credential.owner_id"]) {
        assert.ok(found.has(one), one);
      }
    });

    for (const field of referenceFields) {
      const { resource, block, input, to } = field;
      // An HTTP backend cannot serve whole connections, so nothing refers to it there.
      const answersOnly = resource.name === "tls_edge" || resource.name === "tcp_edge" ? "http_response_backend" : "";
      for (const kind of to.filter((one) => one !== answersOnly)) {
        const isOwner = resource.ownedBy?.kind === kind && block === undefined;
        const name = `${resource.name}${block ? `.${block}` : ""}.${input}`;
        if (isOwner) {
          it(`deletes on ${database.name} of a ${kind} include what it owns, such as the ${resource.name}`, async () => {
            const owner = await world.make(kind);
            if (resource.path.includes("{")) {
              const path = resource.path.replace(/\{\w+\}/, owner.id);
              const { id } = await api.ok("POST", path, { match_type: "path_prefix", match: "/" });
              assert.equal((await remove(owner.path)).status, 204);
              assert.equal((await api.request("GET", `${path}/${id}`)).status, 404);
              return;
            }
            const child = await refer(field, owner.id);
            assert.equal((await remove(owner.path)).status, 204);
            assert.equal((await api.request("GET", `${resource.path}/${child.id}`)).status, 404);
          });
          continue;
        }
        it(`deletes on ${database.name} of a ${kind} is refused while ${name} refers to it`, async () => {
          const target = await world.make(kind);
          const referrer = await refer(field, target.id);
          await assertHeld(target.path, referrer);
          assert.equal((await remove(new URL(referrer.uri).pathname)).status, 204);
          assert.equal((await remove(target.path)).status, 204);
        });
      }
    }

    const served: Readonly<Record<string, { readonly path: string; readonly body: (name: string) => Body }>> = {
      "an HTTPS edge": { path: "/edges/https", body: (name) => ({ hostports: [`${name}:443`] }) },
      "a TLS edge": { path: "/edges/tls", body: (name) => ({ hostports: [`${name}:8443`] }) },
      "a cloud endpoint": {
        path: "/endpoints",
        body: (name) => ({
          url: `https://${name}`,
          type: "cloud",
          traffic_policy: policy.replace("tcp_connect", "http_request"),
        }),
      },
    };
    for (const [what, { path, body }] of Object.entries(served)) {
      for (const name of ["NAME", "*.NAME"]) {
        it(`R5: deletes on ${database.name} of the domain ${name} are refused while ${what} serves it`, async () => {
          const domain = name.replace("NAME", `s${path.length}.example.com`);
          const holder = await api.ok("POST", path, body(domain));
          const { reserved_domains: found } = await api.ok("GET", `/reserved_domains?filter=obj.domain=='${domain}'`);
          const reserved = `/reserved_domains/${found[0].id}`;
          await assertHeld(reserved, holder);
          if (path !== "/endpoints") {
            await api.ok("PATCH", new URL(holder.uri).pathname, { hostports: [] });
            assert.equal((await remove(reserved)).status, 204);
          }
          assert.equal((await remove(new URL(holder.uri).pathname)).status, 204);
          if (path === "/endpoints") assert.equal((await remove(reserved)).status, 204);
        });
      }
    }

    it(`R5: deletes on ${database.name} of one of two domains that cover a name is done, and of the last one refused`, async () => {
      const wild = await api.ok("POST", "/reserved_domains", { domain: "*.two.example.com" });
      const edge = await api.ok("POST", "/edges/https", { hostports: ["a.b.two.example.com:443"] });
      await assertHeld(`/reserved_domains/${wild.id}`, edge);
      const inner = await api.ok("POST", "/reserved_domains", { domain: "*.b.two.example.com" });
      assert.equal((await remove(`/reserved_domains/${wild.id}`)).status, 204);
      await assertHeld(`/reserved_domains/${inner.id}`, edge);
    });

    it(`R5: deletes on ${database.name} of an address are refused while a TCP edge or a cloud endpoint serves it`, async () => {
      const holders: readonly (readonly [string, Body])[] = [
        ["/edges/tcp", { hostports: ["postern.test:9100"] }],
        ["/endpoints", { url: "tcp://postern.test:9100", type: "cloud", traffic_policy: policy }],
      ];
      for (const [path, body] of holders) {
        const holder = await api.ok("POST", path, body);
        const { reserved_addrs: found } = await api.ok("GET", "/reserved_addrs?filter=obj.addr=='postern.test:9100'");
        const reserved = pathOf({ kind: "reserved_addr", id: found[0].id });
        await assertHeld(reserved, holder);
        assert.equal((await remove(new URL(holder.uri).pathname)).status, 204);
        assert.equal((await remove(reserved)).status, 204);
      }
    });

    it(`R5: deletes on ${database.name} of a reservation are refused while an agent's endpoint uses its name`, async () => {
      const accountId = (await api.ok("GET", "/accounts")).accounts.at(-1).id;
      const shared = { accountId, credentialId: "cr_x", metadata: "", region: "local", sessionId: "ts_x" };
      const address = await api.ok("POST", "/reserved_addrs", {});
      const domain = await api.ok("POST", "/reserved_domains", { domain: "*.agents.example.com" });
      const endpoints = [
        [domain, "https", "https://a.agents.example.com"],
        [address, "tcp", `tcp://${address.addr}`],
      ] as const;
      for (const [index, [reserved, proto, publicUrl]] of endpoints.entries()) {
        const tail = String(index + 7).repeat(27);
        const endpoint = { id: `ep_${tail}`, proto, publicUrl };
        const tunnel = { ...shared, id: `tn_${tail}`, forwardsTo: "", endpoint, startedAt: "2026-01-01T00:00:00Z" };
        api.edge.send({ type: "tunnel_opened", tunnel });
        const path = new URL(reserved.uri).pathname;
        await assertHeld(path, await api.ok("GET", `/endpoints/${endpoint.id}`));
        api.edge.send({ type: "tunnel_closed", tunnelId: tunnel.id });
        assert.equal((await remove(path)).status, 204);
      }
    });

    it(`deletes on ${database.name} of a domain and its edge succeed together in a document that omits both`, async () => {
      const domain = { domain: "doc.example.com" };
      const edge = { hostports: ["doc.example.com:443"] };
      const apply = (objects: Body) =>
        api.request("POST", "/apply", { body: { document: "both", prune: true, objects } });
      const both = { reserved_domain: { d: domain }, https_edge: { e: edge } };
      assert.equal((await apply(both)).status, 200);
      for (const path of ["/plan", "/apply"]) {
        const body = { document: "both", prune: true, objects: { https_edge: { e: edge } } };
        const refused = await api.request("POST", path, { body });
        assert.deepEqual([refused.status, refused.body.error_code], [409, errorCode("in_use")], refused.text);
      }
      const gone = await apply({});
      assert.equal(gone.status, 200, gone.text);
      const { reserved_domains: left } = await api.ok("GET", "/reserved_domains?filter=obj.domain=='doc.example.com'");
      assert.deepEqual(left, []);
    });
  });
}
