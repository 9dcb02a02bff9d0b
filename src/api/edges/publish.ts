/** Committed writes → the edges, in revision order. */
import { resources } from "../../resources/index.ts";
import type { RoutingChange } from "../../routing/planes/messages.ts";
import type { Fields } from "../../schema/fields.ts";
import type { ResourceObject } from "../../schema/object.ts";
import { references } from "../../schema/references.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import type { EdgeLine, EdgeObserver, Edges } from "./edges.ts";
import { docOf } from "../../schema/doc.ts";
import { reservedDomain } from "../../resources/reserved-domain.ts";

/** Objects per message of a snapshot. */
const snapshotChunk = 500;

/** Sends an edge that says hello everything that traffic needs, and from then on each change. */
export function startPublishing(store: Store, edges: Pick<Edges, "joined">): EdgeObserver {
  const published = resources.filter((resource) => resource.traffic);
  const kinds = new Set(published.map(({ name }) => name));
  const plainKinds = new Set(published.filter(({ packed }) => !packed).map(({ name }) => name));
  const referred = new Set(published.filter(({ traffic }) => traffic === "referred").map(({ name }) => name));
  const referring = new Map(published.map(({ name, fields }) => [name, fieldsTo(referred, fields)]));
  const isNeeded = ({ kind, id }: StoredObject): boolean => !referred.has(kind) || store.referrers(id).length > 0;
  /** What traffic needs from now on, if the object that refers to it is new or has come to refer to it. */
  const referredBy = ({ kind, account_id, doc }: StoredObject): StoredObject[] =>
    references(referring.get(kind) ?? {}, doc).flatMap(({ to, id }) =>
      to.flatMap((one) => store.get(account_id, one, id) ?? []),
    );
  let waiting: RoutingChange[] | undefined;
  let latest = 0;
  /** Commits so far: those that are in no revision count as well. */
  let count = 0;
  /** Commits up to here are in the snapshot that the line was sent. */
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
      // Writes that were stored together are told together: this runs after the last of them, before their answers.
      queueMicrotask(flush);
    }
    latest = revision;
    for (const { kind, id, before, after } of changes) {
      if (!kinds.has(kind) || (after && !isNeeded(after))) continue;
      if (after) waiting.push(...referredBy(after).map(told));
      const account_id = (after ?? before)?.account_id ?? "";
      waiting.push(after && isInEffect(after) ? told(after) : { kind, id, account_id, object: null });
    }
  });
  const sendSnapshot = (line: EdgeLine): void => {
    const { revision } = store;
    sent.set(line, count);
    let objects: ResourceObject[] = [];
    for (const object of store.objects(plainKinds)) {
      if (!isInEffect(object) || !isNeeded(object)) continue;
      objects.push(plain(object));
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

/** A name that is yet to be proven is held by nobody. */
function isInEffect(object: StoredObject): boolean {
  return object.kind !== reservedDomain.name || !docOf(object, reservedDomain).unproven;
}

/** Those of an object that refer to one of `kinds`; there are none in most. */
function fieldsTo(kinds: ReadonlySet<string>, fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, field]) => field.type === "ref" && field.to.some((one) => kinds.has(one))),
  );
}

function told(object: StoredObject): RoutingChange {
  const { kind, id, account_id } = object;
  return { kind, id, account_id, object: plain(object) };
}

function plain({ kind, id, account_id, revision, doc }: StoredObject): ResourceObject {
  return { kind, id, account_id, revision, doc };
}
