import { tunnelGroupBackend } from "../../resources/tunnel-group-backend.ts";
import { docOf } from "../../schema/doc.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import { makeLabelIndex } from "../../directory/labels.ts";
import type { LabelIndex, Labels } from "../../directory/labels.ts";

export function labelsOf(backend: StoredObject): Labels {
  return docOf(backend, tunnelGroupBackend).labels;
}

/** The tunnel group backends that are stored, by the labels that they watch for. */
export function indexGroupBackends(store: Store): LabelIndex<StoredObject> {
  const index = makeLabelIndex<StoredObject>();
  const add = (backend: StoredObject): void => index.add(backend.account_id, backend.id, labelsOf(backend), backend);
  for (const backend of store.objects(new Set([tunnelGroupBackend.name]))) add(backend);
  store.subscribe(({ changes }) => {
    for (const { kind, before, after } of changes) {
      if (kind !== tunnelGroupBackend.name) continue;
      if (before) index.remove(before.account_id, before.id, labelsOf(before));
      if (after) add(after);
    }
  });
  return index;
}
