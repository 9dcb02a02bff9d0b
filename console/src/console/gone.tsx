/** Explains why an object is missing, and what to do. */
import { atRevision, isPast } from "./api.ts";
import { titleOf } from "./description.ts";
import type { Kind } from "./description.ts";
import { linkTo } from "./router.ts";
import { SourceOf } from "./sources.tsx";
import { pluralName } from "./views.ts";

export function Gone({ kind, id }: { readonly kind: Kind; readonly id: string }) {
  const title = titleOf(kind.name);
  if (isPast(kind.get)) {
    return (
      <div class="empty" role="status">
        <p>{`At revision ${atRevision.value}, this ${title} did not exist.`}</p>
        <button type="button" onClick={() => (atRevision.value = undefined)}>
          Show the current state
        </button>
      </div>
    );
  }
  return (
    <div class="empty" role="status">
      {kind.create === undefined ? (
        <>
          <p>{`This ${title} was deleted or never existed.`}</p>
          <SourceOf kind={kind.name} />
        </>
      ) : (
        <>
          <p>{`This ${title} was deleted or never existed. Its history shows who deleted it, and can restore it.`}</p>
          <a class="button primary" href={linkTo("history", id)}>
            Show history
          </a>
        </>
      )}
      <a class="button" href={kind.name === "https_edge" ? "#/edges" : linkTo("objects", kind.name)}>
        {`All ${pluralName(kind.name)}`}
      </a>
    </div>
  );
}
