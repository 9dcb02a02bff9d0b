/** The client: methods created from the table of operations, with generated types. */
import type { CallOptions } from "./call-options.ts";
import { operations } from "./generated/operations.ts";
import type { Resources } from "./generated/resources.ts";
import { makeListing } from "./listing.ts";
import type { Operation } from "./operation.ts";
import { makeSend } from "./transport.ts";
import type { PosternOptions, Send } from "./transport.ts";

export type Postern = Resources;

/** Contains every method of `Resources`: `new Postern({ baseUrl, apiKey }).ipPolicies.list()`. */
// Its members come from the table.
// oxlint-disable-next-line typescript/no-extraneous-class
export const Postern: new (options: PosternOptions) => Postern = class {
  constructor(options: PosternOptions) {
    const send = makeSend(options);
    for (const operation of operations) {
      let group = this as Record<string, unknown>;
      for (const word of operation.group) group = (group[toCamelCase(word)] ??= {}) as Record<string, unknown>;
      group[toCamelCase(operation.verb)] = makeMethod(operation, send);
    }
  }
} as new (options: PosternOptions) => Postern;

type Method = (...args: readonly unknown[]) => unknown;

/** Returns a method. Its arguments are the path's parameters, then the body, then options. */
function makeMethod(operation: Operation, send: Send): Method {
  const parameters = [...operation.path.matchAll(/\{\w+\}/g)].length;
  return (...args) => {
    const ids = args.slice(0, parameters);
    const rest = args.slice(parameters);
    const body = operation.takesBody ? (rest.shift() ?? {}) : undefined;
    const options = (rest[0] ?? {}) as CallOptions & Readonly<Record<string, unknown>>;
    const path = pathOf(operation, ids);
    const query = new URLSearchParams();
    for (const name of operation.query ?? []) {
      const value = options[name];
      if (["string", "number", "boolean"].includes(typeof value)) query.set(name, String(value));
    }
    const call = (search: URLSearchParams): Promise<unknown> => {
      const target = search.size === 0 ? path : `${path}?${search.toString()}`;
      return send(operation.method, target, body, { ...options, asText: operation.answers === "text" });
    };
    if (operation.answers !== "list") return call(query);
    return makeListing(query, operation.listKey as string, call);
  };
}

/** Throws `TypeError` for an empty id, because the path would be a different one. */
function pathOf(operation: Operation, ids: readonly unknown[]): string {
  let at = 0;
  return operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const id = ids[at];
    at += 1;
    if (typeof id !== "string" || id === "" || /^\.{1,2}$/.test(id)) {
      throw new TypeError(`${operation.id}: "${name}" must be an id, is ${JSON.stringify(id)}`);
    }
    return encodeURIComponent(id);
  });
}

/** `ip_policies` → `ipPolicies`. */
export function toCamelCase(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
