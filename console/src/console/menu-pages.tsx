/** Pages of menu entries: their views, each with its purpose. */
import { ChevronRight } from "lucide";
import { useState } from "preact/hooks";
import { Icon } from "../ui/icon.tsx";
import type { Description } from "./description.ts";
import { Agents } from "./overview/agents.tsx";
import { Doc, Head, ListFilter } from "./parts.tsx";
import { assignableRoles } from "./people/roles.ts";
import { kindsInGroups, buildMenu } from "./views.ts";
import type { MenuItem } from "./views.ts";

export function Part({ path, description }: { readonly path: string; readonly description: Description }) {
  const part = buildMenu(description).find((one) => one.path === path);
  if (!part) return null;
  return (
    <section class="column" aria-label={part.name}>
      <Head title={part.name} {...(part.doc !== undefined && { doc: part.doc })}>
        {path === "access" && assignableRoles().length > 0 && (
          <a class="button primary" href="#/people/invite">
            Invite a colleague
          </a>
        )}
      </Head>
      {path === "machines" && <Agents />}
      <Entries items={part.items} />
    </section>
  );
}

/** All kinds of objects of the API. */
export function Kinds({ description }: { readonly description: Description }) {
  const [text, setText] = useState("");
  const asked = text.trim().toLowerCase();
  const groups = kindsInGroups(description)
    .map(({ title, items }) => ({ title, items: items.filter(({ name }) => name.toLowerCase().includes(asked)) }))
    .filter(({ items }) => items.length > 0);
  return (
    <section class="column" aria-label="All objects">
      <Head
        title="All objects"
        doc="Every kind of object of the API. Services, Access and Settings show the usual ones."
      >
        <ListFilter placeholder="Filter" value={text} onText={setText} />
      </Head>
      {groups.length === 0 && <p class="empty">No kind matches the filter.</p>}
      {groups.map(({ title, items }) => (
        <section key={title} class="column tight" aria-label={title}>
          <h2 class="muted">{title}</h2>
          <Entries items={items} />
        </section>
      ))}
    </section>
  );
}

function Entries({ items }: { readonly items: readonly MenuItem[] }) {
  return (
    <ul class="entries">
      {items.map(({ path, name, doc }) => (
        <li key={path}>
          <a class="panel" href={`#/${path}`}>
            <strong>
              {name} <Icon of={ChevronRight} />
            </strong>
            {doc !== undefined && (
              <span class="muted small">
                <Doc text={doc} />
              </span>
            )}
          </a>
        </li>
      ))}
    </ul>
  );
}
