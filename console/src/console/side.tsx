/** The side of the page: search, menu, and who is logged in. */
import { LogOut, Search } from "lucide";
import { useState } from "preact/hooks";
import { ThemeButton } from "../ui/elements.tsx";
import { Icon, Logo } from "../ui/icon.tsx";
import { logOut, moveToAccount, session } from "./api.ts";
import type { Description } from "./description.ts";
import { isSearching } from "./keyboard.ts";
import { Failed } from "./parts.tsx";
import { place } from "./router.ts";
import { buildMenu } from "./views.ts";
import type { MenuItem } from "./views.ts";

export function Side({ description }: { readonly description: Description | undefined }) {
  return (
    <div class="side">
      <a class="brand" href="#/overview">
        <Logo /> Postern
      </a>
      <Accounts />
      <button type="button" class="search-button" onClick={() => (isSearching.value = true)}>
        <Icon of={Search} /> <span class="grow">Search</span> <kbd>Ctrl K</kbd>
      </button>
      <MenuList description={description} />
      <Who />
    </div>
  );
}

function MenuList({ description }: { readonly description: Description | undefined }) {
  const { view, rest } = place.value;
  const isService = view === "edges" && rest.length > 0;
  const path = view === "objects" && rest.length > 0 ? `objects/${rest[0]}` : isService ? "services" : view;
  const link = ({ path: to, name, key }: MenuItem, content: preact.ComponentChildren) => (
    <a
      href={`#/${to}`}
      aria-current={to === path ? "page" : undefined}
      title={key === undefined ? undefined : `${name}: g ${key}`}
    >
      {content}
    </a>
  );
  return (
    <nav class="menu-list" aria-label="Views">
      <ul>
        {buildMenu(description, path).map((part) => {
          const isOpen = part.path === path || part.items.some((item) => item.path === path);
          return (
            <li key={part.path} class={isOpen ? "open" : ""}>
              {link(
                part,
                <>
                  <Icon of={part.icon} /> {part.name}
                </>,
              )}
              {isOpen && part.items.length > 0 && (
                <ul>
                  {part.items.map((item) => (
                    <li key={item.path}>{link(item, item.name)}</li>
                  ))}
                </ul>
              )}
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

/** Accounts of a user who belongs to several. */
function Accounts() {
  const { accounts = [], account_id: own } = session.value ?? {};
  const [error, setError] = useState("");
  if (accounts.length < 2) return null;
  const go = (id: string): void => void moveToAccount(id).catch((failure: Error) => setError(failure.message));
  return (
    <>
      <select class="account" aria-label="Account" value={own} onChange={(event) => go(event.currentTarget.value)}>
        {accounts.map(({ id, name }) => (
          <option key={id} value={id}>
            {name || id}
          </option>
        ))}
      </select>
      <Failed error={error} />
    </>
  );
}

function Who() {
  const { person, api_key } = session.value ?? {};
  return (
    <div class="who-row">
      <a class="who cut grow" href="#/people" title={api_key?.id}>
        {person ? `${person.email || person.name} (${person.role})` : api_key?.description || "API key"}
      </a>
      <ThemeButton />
      <button type="button" class="plain" aria-label="Log out" title="Log out" onClick={() => void logOut()}>
        <Icon of={LogOut} />
      </button>
    </div>
  );
}
