/** Changes a person's role, blocks or removes the person, and gives another passkey. */
import { useState } from "preact/hooks";
import type { Person } from "../../../../sdk/src/index.ts";
import { Dialog } from "../../ui/elements.tsx";
import { explainError, postern } from "../api.ts";
import { Failed } from "../parts.tsx";
import { linkTo } from "../router.ts";
import { assignableRoles } from "./roles.ts";
import type { Role } from "./roles.ts";

interface Props {
  readonly person: Person;
  onNewLink(): void;
  onClose(): void;
}

export function ManagePerson({ person, onNewLink, onClose }: Props) {
  const [role, setRole] = useState<Role>(person.role);
  const [isActive, setActive] = useState(person.active);
  const [isRemoving, setRemoving] = useState(false);
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  const run = async (work: () => Promise<unknown>): Promise<void> => {
    setBusy(true);
    try {
      await work();
      onClose();
    } catch (failure) {
      setError(explainError(failure).message);
      setBusy(false);
    }
  };
  const isChanged = role !== person.role || isActive !== person.active;
  if (isRemoving) {
    return (
      <Dialog title={`Remove ${person.email}?`} onClose={onClose}>
        <div class="column">
          <p>The person loses access immediately, and all their sessions end. You cannot undo this.</p>
          <Failed error={error} />
          <div class="row actions">
            <span class="grow" />
            <button type="button" onClick={onClose}>
              Cancel
            </button>
            <button
              type="button"
              class="danger"
              disabled={isBusy}
              onClick={() => void run(() => postern.people.delete(person.id))}
            >
              Remove
            </button>
          </div>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title={person.name || person.email} onClose={onClose}>
      <form
        class="column"
        onSubmit={(event) => {
          event.preventDefault();
          const change = {
            ...(role !== person.role && { role }),
            ...(isActive !== person.active && { active: isActive }),
          };
          void run(() => postern.people.update(person.id, change));
        }}
      >
        <div class="field">
          <label for="person-role">Role</label>
          <select id="person-role" value={role} onChange={(event) => setRole(event.currentTarget.value as Role)}>
            {assignableRoles().map(([name]) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
          <span class="muted small">{assignableRoles().find(([name]) => name === role)?.[1]}</span>
        </div>
        <label class="pick">
          <input type="checkbox" checked={isActive} onChange={(event) => setActive(event.currentTarget.checked)} />
          <span>
            May log in <span class="muted small">Without it, all sessions of the person end.</span>
          </span>
        </label>
        <div class="row">
          <button type="button" onClick={onNewLink}>
            New passkey …
          </button>
          <button type="button" class="danger" onClick={() => setRemoving(true)}>
            Remove …
          </button>
          <span class="grow" />
          <a class="small" href={linkTo("history", person.id)}>
            History
          </a>
        </div>
        <Failed error={error} />
        <div class="row actions">
          <span class="grow" />
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={!isChanged || isBusy}>
            Apply
          </button>
        </div>
      </form>
    </Dialog>
  );
}
