/** Publishes committed writes to the edges, in revision order. */
import { resources } from "../../resources/index.ts";
import type { RoutingChange } from "../../routing/planes/messages.ts";
import type { Fields } from "../../schema/fields.ts";
import type { ResourceObject } from "../../schema/object.ts";
import { findReferences } from "../../schema/references.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import type { EdgeLine, EdgeObserver, Edges } from "./edges.ts";
import { docOf } from "../../schema/doc.ts";
import { isHeldDomain, reservedDomain } from "../../resources/reserved-domain.ts";

/** Objects per message of a snapshot. */
const snapshotChunk = 500;

/** Sends an edge everything that traffic needs after its hello, and then each change. */
export function startPublishing(store: Store, edges: Pick<Edges, "joined">): EdgeObserver {
  const published = resources.filter((resource) => resource.traffic);
  const kinds = new Set(published.map(({ name }) => name));
  const plainKinds = new Set(published.filter(({ packed }) => !packed).map(({ name }) => name));
  const referred = new Set(published.filter(({ traffic }) => traffic === "referred").map(({ name }) => name));
  const referring = new Map(published.map(({ name, fields }) => [name, fieldsTo(referred, fields)]));
  const isNeeded = ({ kind, id }: StoredObject): boolean => !referred.has(kind) || store.referrers(id).length > 0;
  /**
   * Returns the objects that traffic needs from now on, because the object that refers to them is new or has a new
   * reference.
   */
  const referredBy = ({ kind, account_id, doc }: StoredObject): StoredObject[] =>
    findReferences(referring.get(kind) ?? {}, doc).flatMap(({ to, id }) =>
      to.flatMap((one) => store.get(account_id, one, id) ?? []),
    );
  let waiting: RoutingChange[] | undefined;
  let latest = 0;
  /** Number of commits so far, including commits without a revision. */
  let count = 0;
  /** The last commit that is in the snapshot sent over the line. */
  const sent = new WeakMap<EdgeLine, number>();
  const flush = (): void => {
    const changes = waiting;
    waiting = undefined;
    if (!changes) return;
    for (const line of edges.joined()) {
      if ((sent.get(line) ?? 0) < count) line.send({ type: "changes", revision: latest, changes });
    }
  };
  store.subscribe(({ revision, changes }) => {
    count += 1;
    if (edges.joined().length === 0) return;
    if (!waiting) {
      waiting = [];
      // Writes that are stored together are published together. This runs after the last of them, before their
      // responses.
      queueMicrotask(flush);
    }
    latest = revision;
    for (const { kind, id, before, after } of changes) {
      if (!kinds.has(kind) || (after && !isNeeded(after))) continue;
      if (after) waiting.push(...referredBy(after).map(toRoutingChange));
      const account_id = (after ?? before)?.account_id ?? "";
      waiting.push(after && isInEffect(after) ? toRoutingChange(after) : { kind, id, account_id, object: null });
    }
  });
  const sendSnapshot = (line: EdgeLine): void => {
    const { revision } = store;
    sent.set(line, count);
    let objects: ResourceObject[] = [];
    for (const object of store.objects(plainKinds)) {
      if (!isInEffect(object) || !isNeeded(object)) continue;
      objects.push(toResourceObject(object));
      if (objects.length < snapshotChunk) continue;
      line.send({ type: "snapshot", revision, objects, last: false });
      objects = [];
    }
    for (const { name, packed } of published) {
      for (const part of packed ? store.packed(name) : []) {
        line.send({ type: "snapshot", revision, objects: [], packed: part, last: false });
      }
    }
    line.send({ type: "snapshot", revision, objects, last: true });
  };
  return {
    receive(message, line) {
      if (message.type === "hello") sendSnapshot(line);
    },
  };
}

function isInEffect(object: StoredObject): boolean {
  return object.kind !== reservedDomain.name || isHeldDomain(docOf(object, reservedDomain));
}

/** Returns the fields of an object that refer to one of `kinds`. Most objects have none. */
function fieldsTo(kinds: ReadonlySet<string>, fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, field]) => field.type === "ref" && field.to.some((one) => kinds.has(one))),
  );
}

function toRoutingChange(object: StoredObject): RoutingChange {
  const { kind, id, account_id } = object;
  return { kind, id, account_id, object: toResourceObject(object) };
}

function toResourceObject({ kind, id, account_id, revision, doc }: StoredObject): ResourceObject {
  return { kind, id, account_id, revision, doc };
}
