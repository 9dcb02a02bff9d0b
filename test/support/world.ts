/**
 * Objects for every operation, created over the API on demand. The code uses the declarations and names no resource.
 */
import { generateKeyPairSync } from "node:crypto";
import { ed25519Blob, publicKeyLine } from "../../src/ssh/keys/public-key.ts";
import assert from "node:assert/strict";
import type { Operation } from "../../src/api/operation/call.ts";
import { modulesOf, resourceNamed } from "../../src/api/operation/resource-declarations.ts";
import { exampleInput } from "../../src/api/operation/example-ids.ts";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import type { Fields } from "../../src/schema/fields.ts";
import { emptyDoc } from "../../src/schema/doc.ts";
import type { ResourceDeclaration } from "../../src/schema/resource.ts";
import type { Store } from "../../src/storage/store.ts";
import type { TestApi } from "./api.ts";

/** Returns the fields of the body, without those in the path. */
export function inputOf(operation: Operation): Fields {
  const fields = operation.input as Fields;
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !operation.path.includes(`{${name}}`)));
}

const authority = createAuthority({ commonName: "Test CA", now: Date.now() });

export interface World {
  /** Returns a call that succeeds, on new objects. */
  callFor(operation: Operation): Promise<{ path: string; body: Record<string, unknown> | undefined }>;
  /** Returns the current state of the object or of the collection. */
  state(operation: Operation, path: string): Promise<unknown>;
  /** Creates an object of `kind` in the account of `api`'s key, or of `key`. */
  make(kind: string, key?: string): Promise<{ readonly id: string; readonly path: string }>;
  /** Returns the ID of an object of `kind` in the account of `key`. */
  foreign(kind: string, key: string): Promise<string>;
}

/** Creates objects of the kinds that no operation creates. */
export async function seedWorld(store: Store): Promise<void> {
  const account = store.accounts()[0]?.id as string;
  const context = { principal: { accountId: account, id: "system" }, operation: "seed", operationId: "op_seed" };
  await store.write(context, (draft) => {
    const key = draft.create(account, "api_key", emptyDoc(resourceNamed("api_key").fields));
    // Without this object, the server treats the database as one of a version that did not record its first tokens.
    draft.create(account, "first_token", { token_hash: "none" });
    for (let count = 0; count < 10; count += 1) {
      const user = { ...emptyDoc(resourceNamed("application_user").fields), provider_user_id: `u${count}` };
      const { id } = draft.create(account, "application_user", user);
      const session = { ...emptyDoc(resourceNamed("application_session").fields), application_user_id: id };
      draft.create(account, "application_session", session);
      const console = { ...emptyDoc(resourceNamed("console_session").fields), api_key_id: key.id };
      draft.create(account, "console_session", console);
      for (const email of [`a${count}@example.com`, `b${count}@example.com`]) {
        const person = draft.create(account, "person", { ...emptyDoc(resourceNamed("person").fields), email });
        const hashed = { person_id: person.id, credential_hash: email };
        draft.create(account, "passkey", { ...emptyDoc(resourceNamed("passkey").fields), ...hashed });
      }
    }
  });
}

export function makeWorld(api: TestApi): World {
  let count = 0;

  /** Returns an input with a unique name, and creates the objects that it refers to. */
  const input = async (kind: string, fields: Fields, direction: "create" | "update", key = api.apiKey) => {
    const ids = new Map<string, string>();
    for (const field of Object.values(fields)) {
      const to = field.type === "map" ? field.keysTo : "to" in field ? field.to : undefined;
      const target = to?.[0];
      if (target === undefined || !field.required || (direction === "update" && field.immutable)) continue;
      ids.set(target, (await make(target, key)).id);
    }
    const body = exampleInput(fields, direction, (kind) => ids.get(kind) ?? "");
    if ("ca_pem" in body) body["ca_pem"] = (await authority).certificatePem;
    if ("public_key" in body) body["public_key"] = newSshKeyLine();
    if ("private_key_pem" in body) {
      const leaf = await issueLeaf(await authority, { names: ["a.example.com"], days: 30, now: Date.now() });
      Object.assign(body, { certificate_pem: leaf.certificatePem, private_key_pem: leaf.keyPem });
    }
    // Resolving its name would send traffic to other machines.
    if ("target" in body) body["target"] = { webhook: { url: "https://127.0.0.1:1/" } };
    if ("vault_name" in body) {
      delete body["vault_name"];
      body["vault_id"] = (await make("vault", key)).id;
    }
    return distinct(kind, body);
  };
  const distinct = (kind: string, body: Record<string, unknown>): Record<string, unknown> => {
    count += 1;
    for (const name of resourceNamed(kind).claims ? ["name", "domain", "match", "url"] : []) {
      if (typeof body[name] !== "string") continue;
      body[name] = { domain: `n${count}.example.com`, match: `/n${count}`, url: `https://n${count}.example.com` }[name];
      body[name] ??= `name ${count}`;
    }
    return body;
  };
  const make = async (kind: string, key = api.apiKey): Promise<{ id: string; path: string }> => {
    const resource = resourceNamed(kind);
    if (resource.live && !resource.operatorOnly) return makeLive(kind);
    if (resource.operations && !resource.operations.includes("create")) return await seeded(resource, key);
    let path = resource.path;
    if (resource.ownedBy && path.includes("{")) {
      path = path.replace(/\{\w+\}/, (await make(resource.ownedBy.kind, key)).id);
    }
    const fields = Object.fromEntries(
      Object.entries(resource.fields).filter(([name]) => !resource.path.includes(`{${name}}`)),
    );
    if (isOnePerType(resource)) await clear(resource, key);
    const { id } = await api.ok("POST", path, await input(kind, fields, "create", key), key);
    return { id, path: `${path}/${id}` };
  };
  /** Returns one of the initial objects. */
  const seeded = async ({ path, listKey }: ResourceDeclaration, key: string): Promise<{ id: string; path: string }> => {
    const { id } = (await api.ok("GET", `${path}?limit=1`, undefined, key))[listKey][0];
    return { id, path: `${path}/${id}` };
  };
  /** Deletes an object of a resource that allows one object per type. */
  const clear = async ({ path, listKey }: ResourceDeclaration, key: string): Promise<void> => {
    for (const { id } of (await api.ok("GET", path, undefined, key))[listKey]) {
      await api.ok("DELETE", `${path}/${id}`, undefined, key);
    }
  };
  const makeLive = async (kind: string): Promise<{ id: string; path: string }> => {
    const { keys } = await api.ok("GET", "/api_keys");
    const accounts = await api.ok("GET", "/accounts");
    assert.ok(keys.length > 0);
    const accountId = accounts.accounts.at(-1).id as string;
    count += 1;
    const tail = count.toString(36).padStart(27, "0");
    const startedAt = "2026-01-01T00:00:00Z";
    const shared = { accountId, credentialId: "cr_x", metadata: "", region: "local", startedAt };
    const session = {
      ...shared,
      id: `ts_${tail}`,
      agentVersion: "1",
      ip: "192.0.2.1",
      os: "linux",
      transport: "ngrok/2",
    };
    api.edge.send({ type: "session_opened", session });
    const endpoint = { id: `ep_${tail}`, proto: "https", publicUrl: `https://t${count}.postern.test` } as const;
    const tunnel = { ...shared, id: `tn_${tail}`, sessionId: session.id, forwardsTo: "localhost:80", endpoint };
    api.edge.send({ type: "tunnel_opened", tunnel });
    const id = { tunnel_session: session.id, tunnel: tunnel.id, endpoint: endpoint.id }[kind] as string;
    return { id, path: `${resourceNamed(kind).path}/${id}` };
  };
  return {
    async callFor(operation) {
      const resource = operation.resource as NonNullable<Operation["resource"]>;
      const isOne = operation.path.includes("{id}");
      let path = operation.path;
      if (isOne) {
        const made = await make(resource.name);
        const suffix = operation.path.slice(operation.path.indexOf("{id}") + 4);
        const start = resource.path.includes("{") ? made.path : operation.path.replace(/\{id\}.*/, made.id);
        path = start + suffix;
        if (operation.block && operation.method !== "PUT") await fill(resource.name, operation.block, start);
      } else if (path.includes("{")) {
        path = path.replace(/\{\w+\}/, (await make(resource.ownedBy?.kind as string)).id);
      }
      if (operation.takes !== "object") return { path, body: undefined };
      const direction = operation.verb === "update" ? "update" : "create";
      if (operation.verb === "create" && isOnePerType(resource)) await clear(resource, api.apiKey);
      return { path, body: await input(resource.name, inputOf(operation), direction) };
    },
    async state(operation, path) {
      if (operation.verb === "create") {
        if (operation.path.includes("{")) return api.ok("GET", path.replace(/\/\w+$/, ""));
        return (await api.ok("GET", `${path}?limit=1`))[operation.resource?.listKey as string]?.[0]?.id;
      }
      return api.ok("GET", path.replace(/\/rotate$/, ""));
    },
    make,
    foreign: async (kind, key) => (await make(kind, key)).id,
  };

  async function fill(kind: string, block: string, path: string): Promise<void> {
    const field = modulesOf(resourceNamed(kind)).find(([module]) => module.name === block)?.[1];
    await api.ok("PUT", `${path}/${block}`, await input(kind, field?.fields as Fields, "create"));
  }
}

/** Each key belongs to one object of the server. */
export function newSshKeyLine(): string {
  const { x = "" } = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });
  const blob = ed25519Blob(Buffer.from(x, "base64url"));
  return publicKeyLine({ type: "ssh-ed25519", blob });
}

/** Whether an account can have one object of each of the resource's types. */
function isOnePerType({ fields, claims }: ResourceDeclaration): boolean {
  const { type } = fields;
  return type?.type === "oneOf" && type.values.length > 1 && claims !== undefined;
}
