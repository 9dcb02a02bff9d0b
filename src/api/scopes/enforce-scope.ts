/**
 * Enforces the scopes of limited keys. Calls without a required scope are rejected. Writes are judged in their draft,
 * see `scope-judge.ts`.
 */
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { Reader, Store } from "../../storage/store.ts";
import type { Call, Operation } from "../operation/call.ts";
import { resourceNamed } from "../operation/resource-declarations.ts";
import type { LiveObjects } from "../edges/live-objects.ts";
import { accountOf, findObject, requireObject } from "../objects/lookup.ts";
import { refuseMissingScope, scopeOf } from "../operation/missing-scope.ts";
import { hasPrefix, isWithin, readScopes, seesEverything } from "../operation/scope.ts";
import type { KeyScope } from "../operation/scope.ts";
import { makeJudge } from "./scope-judge.ts";
import { withoutHidden } from "./unnamed.ts";

/** Returns the operation limited to the permissions of the caller's key. */
export function limitToScope(operation: Operation, store: Store, liveObjects: LiveObjects): Operation {
  if (operation.open) return operation;
  const reader: Pick<Reader, "get"> = {
    get: (accountId, kind, id) => (resourceNamed(kind).live ? liveObjects : store).get(accountId, kind, id),
  };
  return {
    ...operation,
    run(call) {
      const { scope } = call.principal;
      if (!scope) return operation.run(call);
      checkScope(operation, call, scope, store, liveObjects);
      try {
        const reply = operation.run(seesEverything(scope) && scope.secrets ? call : limitCall(call, scope));
        if (!(reply instanceof Promise)) return reply;
        return reply.catch((error: unknown) => {
          throw withoutHidden(error, call.principal, reader);
        });
      } catch (error) {
        throw withoutHidden(error, call.principal, reader);
      }
    },
  };
}

function limitCall(call: Call, scope: KeyScope): Call {
  const given = new Map<string, ReadonlySet<string>>();
  return { ...call, given, judge: makeJudge(call.operation, scope, given) };
}

/** Returns the scope that a key lacks for an operation on any object, regardless of metadata. */
export function findMissingScope(operation: Operation, scope: KeyScope): string | undefined {
  const { resource, needs } = operation;
  const { write, kinds } = scope;
  if (operation.method !== "GET" && !operation.reads && !write) return "write";
  if (needs !== undefined && !scope[needs]) return needs;
  return kinds && !(resource && kinds.has(resource.name)) ? `type:${resource?.name ?? "*"}` : undefined;
}

function checkScope(operation: Operation, call: Call, scope: KeyScope, store: Store, liveObjects: LiveObjects): void {
  const { resource } = operation;
  const lacks = findMissingScope(operation, scope);
  if (lacks !== undefined) throw refuseMissingScope(operation, lacks);
  if (resource?.name === "api_key" && operation.verb === "create") checkWithin(operation, call, scope);
  if (resource?.name === "account" && operation.verb === "create") {
    throw refuseMissingScope(operation, "*", "the answer has the new account's first API key, which is not limited");
  }
  if (!scope.prefixes) return;
  const reader = resource?.live ? liveObjects : store;
  // Operations that may affect hidden objects are not available to limited keys.
  if (!resource || !("metadata" in resource.fields) || !isPlain(operation, resource) || call.query.has("at_revision")) {
    throw refuseMissingScope(operation, "metadata:");
  }
  checkMetadata(operation, resource, call, scope.prefixes, reader, store);
}

function checkMetadata(
  operation: Operation,
  resource: ResourceDeclaration,
  call: Call,
  prefixes: readonly string[],
  reader: Pick<Reader, "get">,
  store: Store,
): void {
  const owner = resource.ownedBy;
  if (owner && resource.path.includes("{")) {
    const found = findObject(store, accountOf(resource, call), owner.kind, call.parameters[0] as string);
    if (!hasPrefix(prefixes, found.doc["metadata"]))
      throw refuseMissingScope(operation, scopeOf(found.doc["metadata"]));
  }
  if (operation.path.includes("{id}")) {
    const { doc } = requireObject(resource, call, reader);
    if (!hasPrefix(prefixes, doc["metadata"])) throw refuseMissingScope(operation, scopeOf(doc["metadata"]));
  }
  const given = call.body["metadata"];
  const leaves = operation.verb === "create" || (operation.verb === "update" && given !== undefined);
  if (leaves && !hasPrefix(prefixes, given)) throw refuseMissingScope(operation, scopeOf(given));
}

/** A key can create only keys with no more permissions than its own. */
function checkWithin(operation: Operation, call: Call, scope: KeyScope): void {
  const scopes = call.body["scopes"];
  const list = Array.isArray(scopes) ? scopes.filter((one): one is string => typeof one === "string") : [];
  if (isWithin(readScopes(list), scope) && call.body["operator"] !== true) return;
  throw refuseMissingScope(operation, "*", "a limited key can create only keys with at most its own scopes");
}

/** Whether the operation gets, lists, creates or changes objects in the common way of all resources. */
function isPlain({ path, verb, block, stores }: Operation, resource: ResourceDeclaration): boolean {
  if (verb === "command") return false;
  const collections = [resource.path, ...(resource.aliases ?? []).map((alias) => alias.path)];
  const inside = [
    ...(block === undefined ? [] : [`/${block}`]),
    ...(resource.clears ?? []).map((clear) => `/${clear.path}`),
    // A further write of one object.
    ...(stores === true ? [path.slice(path.lastIndexOf("/"))] : []),
    "",
  ];
  return collections.some((one) => path === one || inside.some((rest) => path === `${one}/{id}${rest}`));
}
