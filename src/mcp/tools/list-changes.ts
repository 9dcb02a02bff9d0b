import { consoleLink } from "../parts/links.ts";
import { quoteValue } from "../parts/quote-value.ts";
import { countOf, textOf } from "../parts/tool.ts";
import type { Tool } from "../parts/tool.ts";

const maxShown = 50;
/** Maximum number of objects per revision. */
const maxObjects = 5;

export const listChanges: Tool = {
  name: "list_changes",
  title: "List changes",
  description: "List recent revisions of the configuration, newest first: who changed which objects, when and why.",
  input: {
    object_id: { type: "string", description: "Only changes of this object." },
    limit: { type: "integer", minimum: 1, maximum: maxShown, description: "Default: 10." },
  },
  required: [],
  async run(input, { api, baseUrl }) {
    const query = new URLSearchParams({ limit: String(countOf(input, "limit", maxShown) ?? 10) });
    const id = textOf(input, "object_id", 64);
    if (id !== undefined) query.set("object_id", id);
    const { revisions } = (await api({ method: "GET", path: `/revisions?${query.toString()}` })) as Revisions;
    if (revisions.length === 0) return "No changes.";
    return revisions
      .map(({ revision, created_at: at, principal, operation, reason, changes, more_changes: more }) => {
        const objects = changes
          .slice(0, maxObjects)
          .map(({ action, kind, id: object }) => `${action} ${kind} ${object}`);
        const rest = more || changes.length > maxObjects ? " and more" : "";
        const why = reason === "" ? "" : `, reason ${quoteValue(reason)}`;
        const link = consoleLink(baseUrl, "history", String(revision));
        return `- Revision ${revision} at ${at} by ${principal}, ${operation}${why}: ${objects.join(", ")}${rest}. ${link}`;
      })
      .join("\n");
  },
};

interface Revisions {
  readonly revisions: readonly {
    readonly revision: number;
    readonly created_at: string;
    readonly principal: string;
    readonly operation: string;
    readonly reason: string;
    readonly changes: readonly { readonly action: string; readonly kind: string; readonly id: string }[];
    readonly more_changes: boolean;
  }[];
}
