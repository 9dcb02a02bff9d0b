/**
 * Renders stored objects as the JSON that clients see. The JSON of an object without live fields is rendered once per
 * revision and base URL, and cached as long as the object.
 */
import { createHash } from "node:crypto";
import type { Fields } from "../../schema/fields.ts";
import type { Doc } from "../../schema/doc.ts";
import { renderFields } from "../../schema/render-fields.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { Reader, StoredObject } from "../../storage/store.ts";
import { isVisible } from "../operation/scope.ts";
import type { KeyScope } from "../operation/scope.ts";
import { resourceNamed, resourceOfId, resources } from "../operation/resource-declarations.ts";

/** Returns the values of an object's live fields, by field name; see `RenderContext`. */
export type LiveValues = (object: StoredObject, baseUrl: string) => Doc;

export interface Views {
  /** Returns everything that a client sees of the object. `shown`: values for this response only. */
  render(object: StoredObject, baseUrl: string, shown?: Doc): Record<string, unknown>;
  /** As `render`, for objects of one kind, with only those fields for which `names` returns true. */
  partly(resource: ResourceDeclaration, names: (name: string) => boolean): Views["render"];
  json(object: StoredObject, baseUrl: string): string;
  /** As `json`, with its length in bytes, in decimal. */
  sized(object: StoredObject, baseUrl: string): { readonly body: string; readonly contentLength: string };
  /** Returns one block (a module) of an object. */
  block(object: StoredObject, name: string, baseUrl: string): unknown;
  uri(object: { readonly kind: string; readonly id: string; readonly doc: Doc }, baseUrl: string): string;
  /**
   * Changes when the object or a nested object changes. The part after the dot covers computed values (RFC 9110
   * §8.8.3).
   */
  etag(object: StoredObject): string;
  /**
   * Returns the views of a key with this scope: without hidden objects, and without secrets unless the key may read
   * them. Call this on the views without limits.
   */
  seenBy(scope: KeyScope | undefined): Views;
}

interface Rendered {
  readonly baseUrl: string;
  readonly body: string;
  readonly contentLength: string;
}

/** Names of resources whose JSON cannot be cached, because some fields are computed on each read. */
export const changing: ReadonlySet<string> = new Set(
  resources.filter((one) => Object.values(one.fields).some((field) => field.live)).map((one) => one.name),
);

/** Kinds of the objects that are nested in another, by its kind. */
export const ownedInside = new Map(
  resources.flatMap(({ name, fields }) => {
    const kinds = Object.values(fields).flatMap((field) => (field.type === "children" ? [field.kind] : []));
    return kinds.length > 0 ? [[name, kinds] as const] : [];
  }),
);

/**
 * Returns the views of a caller without limits.
 * @param lookup finds a stored or live object by kind and id; without it, computed lists cannot be filtered
 */
export function makeViews(
  reader: Pick<Reader, "children">,
  live: Readonly<Record<string, LiveValues>>,
  lookup?: Reader["get"],
): Views {
  const byScope = new WeakMap<KeyScope, Views>();
  const blind = viewsOf({ reader, live, lookup, scope: undefined, redact: true });
  const all: Views = {
    ...viewsOf({ reader, live, lookup, scope: undefined, redact: false }),
    seenBy(scope) {
      if (!scope) return all;
      if (!scope.prefixes && !scope.kinds) return scope.secrets ? all : blind;
      let views = byScope.get(scope);
      if (!views) byScope.set(scope, (views = viewsOf({ reader, live, lookup, scope, redact: !scope.secrets })));
      return views;
    },
  };
  return all;
}

interface Sight {
  readonly reader: Pick<Reader, "children">;
  readonly live: Readonly<Record<string, LiveValues>>;
  readonly lookup: Reader["get"] | undefined;
  readonly scope: KeyScope | undefined;
  readonly redact: boolean;
}

function viewsOf({ reader, live, lookup, scope, redact }: Sight): Views {
  const kept = new WeakMap<StoredObject, Rendered>();

  const childrenOf = (kind: string, object: StoredObject): readonly StoredObject[] =>
    reader.children(kind, object.id).filter((child) => isVisible(scope, child));
  /** Computed lists contain only visible objects. Configured lists are complete. */
  const liveOf = (object: StoredObject, baseUrl: string): Doc => {
    const values = live[object.kind]?.(object, baseUrl) ?? {};
    if (!scope || !lookup) return values;
    return Object.fromEntries(
      Object.entries(values).map(([name, value]) => {
        const field = resourceNamed(object.kind).fields[name];
        if (field?.type !== "refList" || !Array.isArray(value)) return [name, value];
        return [name, value.filter((id) => isSeen(object.account_id, field.to, String(id)))];
      }),
    );
  };
  const isSeen = (accountId: string, kinds: readonly string[], id: string): boolean => {
    const found = kinds.map((kind) => lookup?.(accountId, kind, id)).find((one) => one !== undefined);
    return found !== undefined && isVisible(scope, found);
  };
  const contextFor = (object: StoredObject, baseUrl: string, shown: Doc | undefined, concealing: boolean) => ({
    uriOf: (id: string) => uriOfId(id, baseUrl),
    children: (kind: string) => childrenOf(kind, object).map((child) => renderAs(concealing, child, baseUrl)),
    live: { ...liveOf(object, baseUrl), ...shown },
    redact: concealing,
  });
  const renderAs = (
    concealing: boolean,
    object: StoredObject,
    baseUrl: string,
    shown?: Doc,
    fields?: Fields,
  ): Record<string, unknown> => {
    const resource = resourceNamed(object.kind);
    return {
      id: object.id,
      uri: uriOf(object, baseUrl),
      ...(!resource.live && { created_at: object.created_at }),
      ...renderFields(fields ?? resource.fields, object.doc, contextFor(object, baseUrl, shown, concealing)),
    };
  };
  const render: Views["render"] = (object, baseUrl, shown) => renderAs(redact, object, baseUrl, shown);
  const rendered = (object: StoredObject, baseUrl: string): Rendered => {
    const one = kept.get(object);
    if (one && one.baseUrl === baseUrl) return one;
    const body = JSON.stringify(render(object, baseUrl));
    const made = { baseUrl, body, contentLength: String(Buffer.byteLength(body)) };
    if (!changing.has(object.kind)) kept.set(object, made);
    return made;
  };
  const views: Views = {
    render,
    partly({ fields }, names) {
      const some = Object.fromEntries(Object.entries(fields).filter(([name]) => names(name)));
      return (object, baseUrl, shown) => renderAs(redact, object, baseUrl, shown, some);
    },
    uri: uriOf,
    json: (object, baseUrl) => rendered(object, baseUrl).body,
    sized: rendered,
    block(object, name, baseUrl) {
      const fields: Fields = { [name]: resourceNamed(object.kind).fields[name] as Fields[string] };
      return renderFields(fields, object.doc, contextFor(object, baseUrl, undefined, redact))[name];
    },
    etag(object) {
      let text = `"${object.revision}`;
      for (const kind of ownedInside.get(object.kind) ?? []) {
        const children = childrenOf(kind, object);
        const latest = children.reduce((most, child) => Math.max(most, child.revision), 0);
        text += `-${children.length}-${latest}`;
      }
      // Secrets are masked, because a hash of them could be guessed. The revision covers stored changes.
      return `${live[object.kind] ? `${text}.${fingerprintOf(renderAs(true, object, ""))}` : text}"`;
    },
    seenBy: () => views,
  };
  return views;
}

function fingerprintOf(shown: unknown): string {
  return createHash("sha256").update(JSON.stringify(shown)).digest("base64url").slice(0, 11);
}

export function uriOf(
  object: { readonly kind: string; readonly id: string; readonly doc: Doc },
  baseUrl: string,
): string {
  return `${baseUrl}${collectionPath(resourceNamed(object.kind), object.doc)}/${object.id}`;
}

/** Returns the collection's path, with the id of the owner if it has one. */
function collectionPath(resource: ResourceDeclaration, doc: Doc): string {
  return resource.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(doc[name]));
}

/** Returns the URI from the id alone; "" if the path contains an owner. */
export function uriOfId(id: string, baseUrl: string): string {
  const resource = resourceOfId(id);
  return resource && !resource.path.includes("{") ? `${baseUrl}${resource.path}/${id}` : "";
}
