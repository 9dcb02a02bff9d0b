/** The page of an invitation link: who invites, and the first passkey or login. */
import { useState } from "preact/hooks";
import { TextInput, Time } from "../../ui/elements.tsx";
import { enterWith, invitation, sendToConsole } from "../api.ts";
import { Failed } from "../parts.tsx";
import { OpenedLink } from "../opened-link.tsx";
import { useData } from "../use-data.ts";
import { createPasskey, hasPasskeys } from "./passkey.ts";
import { roles } from "./roles.ts";

interface Invited {
  readonly email: string;
  readonly role: string;
  readonly account: string;
  readonly expires_at: string;
  /** Whether the person exists already, and gets another passkey. */
  readonly is_known: boolean;
  /** The team's identity provider, at which the person logs in instead. */
  readonly login_title?: string;
  readonly options?: PublicKeyCredentialCreationOptionsJSON;
}

export function Accept({ code }: { readonly code: string }) {
  const found = useData(() => sendToConsole("invitation", { code }) as Promise<unknown> as Promise<Invited>, [code]);
  return (
    <OpenedLink
      error={found.error}
      advice="Ask the person who invited you for a new link. If you have a passkey already, log in with it."
      way="To the login"
      onLeave={() => leavePage()}
    >
      {found.value && <Join code={code} invited={found.value} again={found.again} />}
    </OpenedLink>
  );
}

function Join({ code, invited, again }: { readonly code: string; readonly invited: Invited; again(): void }) {
  const { email, role, account, is_known: isKnown, login_title: provider, options } = invited;
  const [name, setName] = useState("");
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  const join = async (): Promise<void> => {
    setBusy(true);
    try {
      if (provider !== undefined) {
        const { location: next } = (await sendToConsole("invitation/login", { code })) as { readonly location: string };
        location.assign(next);
        return;
      }
      const response = await createPasskey(options as PublicKeyCredentialCreationOptionsJSON);
      await enterWith("invitation/accept", { code, name, response });
      leavePage();
    } catch (failure) {
      setError((failure as Error).message);
      setBusy(false);
      // A challenge works once.
      again();
    }
  };
  const doc = roles.find(([one]) => one === role)?.[1] ?? "";
  const isPossible = provider !== undefined || hasPasskeys();
  return (
    <form
      class="column"
      onSubmit={(event) => {
        event.preventDefault();
        void join();
      }}
    >
      <h2>{isKnown ? "Add a passkey" : `You are invited to ${account}`}</h2>
      <dl class="pairs">
        <dt>Email</dt>
        <dd>{email}</dd>
        <dt>Role</dt>
        <dd>
          {role} <span class="muted small">{doc}</span>
        </dd>
      </dl>
      {provider === undefined && !isKnown && (
        <div class="field">
          <label for="person-name">Your name</label>
          <TextInput id="person-name" maxLength={100} value={name} onText={setName} />
        </div>
      )}
      {provider === undefined ? (
        <p class="muted small">
          A passkey replaces a password. Your device keeps it, and asks for your fingerprint, face or PIN.
        </p>
      ) : (
        <p class="muted small">{`Log in with ${email}. Another account is not accepted.`}</p>
      )}
      {!isPossible && (
        <p class="notice warn">This browser has no passkeys. Open the link in a current version of your browser.</p>
      )}
      <Failed error={error} />
      <button type="submit" class="primary" disabled={isBusy || !isPossible}>
        {provider === undefined ? "Create a passkey" : `Continue with ${provider}`}
      </button>
      <p class="muted small">
        The link works once, until <Time at={invited.expires_at} />.
      </p>
    </form>
  );
}

/** Removes the code from the address and shows the console. */
function leavePage(): void {
  history.replaceState(undefined, "", "#/");
  invitation.value = undefined;
}
