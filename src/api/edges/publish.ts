/** Committed writes → the edge, in revision order. */
import { resources } from "../../resources/index.ts";
import type { Downward, Link, RoutingChange, Upward } from "../../routing/planes/messages.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { Store, StoredObject } from "../../storage/store.ts";

/** Objects per message of a snapshot. */
const snapshotChunk = 500;

export interface Publisher {
  /** Sends everything that traffic needs, as of the last revision. */
  sendSnapshot(): void;
}

/** Starts sending changes at once; the edge passes over those before its first snapshot. */
export function startPublishing(store: Store, link: Pick<Link<Downward, Upward>, "send">): Publisher {
  const kinds = new Set(resources.filter((resource) => resource.traffic).map((resource) => resource.name));
  let connected = false;
  let waiting: RoutingChange[] | undefined;
  let latest = 0;
  const flush = (): void => {
    const changes = waiting;
    waiting = undefined;
    if (changes) link.send({ type: "changes", revision: latest, changes });
  };
  store.subscribe(({ revision, changes }) => {
    if (!connected) return;
    if (!waiting) {
      waiting = [];
      // Writes that were stored together are told together: this runs after the last of them, before their answers.
      queueMicrotask(flush);
    }
    latest = revision;
    for (const { kind, id, before, after } of changes) {
      if (!kinds.has(kind)) continue;
      const account_id = (after ?? before)?.account_id ?? "";
      waiting.push({ kind, id, account_id, object: after ? plain(after) : null });
    }
  });
  return {
    sendSnapshot() {
      connected = true;
      waiting = undefined;
      const { revision } = store;
      let objects: ResourceObject[] = [];
      for (const object of store.objects(kinds)) {
        objects.push(plain(object));
        if (objects.length < snapshotChunk) continue;
        link.send({ type: "snapshot", revision, objects, last: false });
        objects = [];
      }
      link.send({ type: "snapshot", revision, objects, last: true });
    },
  };
}

function plain({ kind, id, account_id, revision, doc }: StoredObject): ResourceObject {
  return { kind, id, account_id, revision, doc };
}
