/** Declarations with every feature of storage, and documents for them. */
import { tmpdir } from "node:os";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import { defineModule } from "../../src/traffic/module.ts";
import type { ModuleDeclaration } from "../../src/traffic/module.ts";
import { f } from "../../src/schema/fields.ts";
import { defineResource } from "../../src/schema/resource.ts";
import type { ResourceDeclaration } from "../../src/schema/resource.ts";
import type { StoreOptions } from "../../src/storage/opening/open-store.ts";
import type { Store, StoredObject, WriteContext } from "../../src/storage/store.ts";

const common = { operations: [], doc: "For tests." } as const;

const user = defineResource({
  ...common,
  name: "user",
  schemaName: "User",
  path: "/users",
  listKey: "users",
  idPrefix: "us",
  fields: { name: f.string("Name.", { required: true }) },
  claims: ({ name }) => [{ space: "user", name }],
});

const policy = defineResource({
  ...common,
  name: "policy",
  schemaName: "Policy",
  path: "/policies",
  listKey: "policies",
  idPrefix: "po",
  fields: { description: f.string("Description.") },
});

const rule = defineResource({
  ...common,
  name: "rule",
  schemaName: "Rule",
  path: "/rules",
  listKey: "rules",
  idPrefix: "ru",
  fields: {
    policy: f.ref("Policy.", { to: "policy", input: "policy_id" }, { required: true }),
    cidr: f.string("Network.", { required: true }),
  },
  ownedBy: { kind: "policy", field: "policy_id" },
  claims: ({ policy_id, cidr }) => [{ space: `cidr of ${policy_id}`, name: cidr }],
  taken: "cidr_duplicate",
  packed: { keys: ["policy_id", "cidr"], own: [], common: [] },
});

const edge = defineResource({
  ...common,
  name: "edge",
  schemaName: "Edge",
  path: "/edges",
  listKey: "edges",
  idPrefix: "ed",
  fields: { hostports: f.list("Hostports.", f.string("Hostport."), { maxItems: 10 }) },
  claims: ({ hostports }) => hostports.map((name) => ({ space: "hostport", name, global: true })),
  taken: "hostport_held",
});

const route = defineResource({
  ...common,
  name: "route",
  schemaName: "Route",
  path: "/edges/{edge_id}/routes",
  listKey: "routes",
  idPrefix: "rt",
  fields: {
    edge_id: f.string("Edge.", { required: true }),
    match: f.string("Path.", { required: true }),
  },
  modulesOn: "https_route",
  ownedBy: { kind: "edge", field: "edge_id" },
});

const vault = defineResource({
  ...common,
  name: "vault",
  schemaName: "Vault",
  path: "/vaults",
  listKey: "vaults",
  idPrefix: "va",
  fields: {
    password: f.string("Password.", { secret: true }),
    tokens: f.list("Tokens.", f.string("Token.", { secret: true })),
    named: f.map("Secrets by name.", f.object("One.", { value: f.string("Value.", { secret: true }) })),
    weights: f.map("Weights of users.", f.uint32("Weight."), { keysTo: ["user"] }),
  },
});

const guard = defineModule({
  name: "guard",
  schemaName: "Guard",
  on: ["https_route"],
  doc: "For tests.",
  acts: {},
  fields: {
    policies: f.refList("Policies.", { to: "policy", input: "policy_ids" }),
    client_secret: f.string("Secret.", { secret: true }),
  },
  compile: () => ({}),
});

export const declarations = {
  resources: [user, policy, rule, edge, route, vault] as unknown as readonly ResourceDeclaration[],
  modules: [guard] as unknown as readonly ModuleDeclaration[],
};

export const sealingKey = Buffer.alloc(32, 7);

export function optionsFor(url: string): StoreOptions {
  return { database: url, dataDirectory: tmpdir(), declarations, sealingKey, clock: systemClock, log: silentLog };
}

export function defaultAccount(store: Store): string {
  return store.accounts()[0]?.id as string;
}

let operations = 0;

export function contextFor(accountId: string, more: Partial<WriteContext> = {}): WriteContext {
  operations += 1;
  const principal = { accountId, id: "ak_test", source: "192.0.2.7" };
  return { principal, operation: "test", operationId: `op_${operations}`, ...more };
}

/** Creates one object in a separate write. */
export async function create(
  store: Store,
  accountId: string,
  kind: string,
  doc: Readonly<Record<string, unknown>>,
): Promise<StoredObject> {
  const { result } = await store.write(contextFor(accountId), (draft) => draft.create(accountId, kind, doc));
  return result;
}

export function emptyVault(more: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  return { password: "", tokens: [], named: {}, weights: {}, ...more };
}

export function routeDoc(edgeId: string, guard: unknown = null): Readonly<Record<string, unknown>> {
  return { edge_id: edgeId, match: "/", guard };
}
