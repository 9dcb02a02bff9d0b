/** Invites a person: their address and role, then the link, which is shown once. */
import { useState } from "preact/hooks";
import type { PersonInvitation } from "../../../../sdk/src/index.ts";
import { Command, Dialog, TextInput, Time } from "../../ui/elements.tsx";
import { explainError, postern } from "../api.ts";
import { Failed } from "../parts.tsx";
import { Lifetime, hourMs } from "../lifetime.tsx";
import { assignableRoles } from "./roles.ts";
import type { Role } from "./roles.ts";

interface Props {
  /** Address of a person who needs another passkey. */
  readonly email?: string;
  onClose(): void;
}

export function InvitePerson({ email: known, onClose }: Props) {
  const [email, setEmail] = useState(known ?? "");
  const [role, setRole] = useState<Role>("viewer");
  const [hours, setHours] = useState(72);
  const [made, setMade] = useState<PersonInvitation>();
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  const invite = async (): Promise<void> => {
    setBusy(true);
    try {
      const expires_at = new Date(Date.now() + hours * hourMs).toISOString();
      setMade(await postern.personInvitations.create({ email: email.trim(), role, expires_at }));
    } catch (failure) {
      const { message, fields } = explainError(failure);
      setError(fields["email"] === undefined ? message : `The email address ${lowerFirst(fields["email"])}`);
    }
    setBusy(false);
  };
  return (
    <Dialog title={known === undefined ? "Invite a colleague" : `New link for ${known}`} onClose={onClose}>
      {made ? (
        <Made made={made} onClose={onClose} />
      ) : (
        <form
          class="column"
          onSubmit={(event) => {
            event.preventDefault();
            void invite();
          }}
        >
          {known === undefined ? (
            <>
              <div class="field">
                <label for="invite-email">Email address</label>
                <TextInput id="invite-email" autofocus required maxLength={255} value={email} onText={setEmail} />
              </div>
              <fieldset class="column tight">
                <legend>Role</legend>
                {assignableRoles().map(([name, doc]) => (
                  <label key={name} class="pick">
                    <input type="radio" name="role" checked={role === name} onChange={() => setRole(name)} />
                    <span>
                      <strong>{name}</strong> <span class="muted small">{doc}</span>
                    </span>
                  </label>
                ))}
              </fieldset>
            </>
          ) : (
            <p>With this link the person adds a passkey, for example on a new device. The role stays the same.</p>
          )}
          <Lifetime id="invite-days" label="The link expires after" hours={hours} onChoose={setHours} />
          <Failed error={error} />
          <div class="row actions">
            <span class="muted small grow">Postern sends no email. You get a link to send.</span>
            <button type="button" onClick={onClose}>
              Cancel
            </button>
            <button type="submit" class="primary" disabled={isBusy || email.trim() === ""}>
              Create link
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}

function Made({ made: { url, email, expires_at }, onClose }: { readonly made: PersonInvitation; onClose(): void }) {
  return (
    <div class="column" role="status" aria-label="The link">
      <p>{`Send this link to ${email}. It is shown only once.`}</p>
      <Command text={url ?? ""} />
      <p class="muted small">
        The link works once, until <Time at={expires_at ?? ""} />. The first person who opens it gets the access.
      </p>
      <div class="row">
        <span class="grow" />
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </div>
    </div>
  );
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
