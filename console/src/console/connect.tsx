/** Asks the person whether an application may use `/mcp` in their name. */
import { useState } from "preact/hooks";
import { forgetConnection, sendToConsole, session } from "./api.ts";
import { Failed } from "./parts.tsx";
import { OpenedLink } from "./opened-link.tsx";
import { useData } from "./use-data.ts";

interface ConnectRequest {
  /** The name of the application, which it chose itself. */
  readonly client: string;
  readonly destination: string;
  readonly resource: string;
  readonly scopes: readonly string[];
  /** Scopes that the person can give. */
  readonly possible_scopes: readonly string[];
  readonly account: string;
}

const meanings: Readonly<Record<string, string>> = {
  read: "See services, requests, denials and changes, without secrets",
  write: "Change the configuration, one reviewed plan at a time",
};

export function Connect({ request }: { readonly request: string }) {
  const found = useData(
    () => sendToConsole("application", { request }) as Promise<unknown> as Promise<ConnectRequest>,
    [request],
  );
  return (
    <OpenedLink
      error={found.error}
      advice="Start again in the application that wants to connect."
      way="To the console"
      onLeave={forgetConnection}
    >
      {found.value && <Confirm request={request} asked={found.value} />}
    </OpenedLink>
  );
}

function Confirm({ request, asked }: { readonly request: string; readonly asked: ConnectRequest }) {
  const { client, destination, scopes, possible_scopes: possible, resource, account } = asked;
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  const { person, api_key: key } = session.value ?? {};
  const decide = async (decision: "allow" | "deny"): Promise<void> => {
    setBusy(true);
    try {
      const body = { request, decision, scopes: possible };
      const { location: next } = (await sendToConsole("application", body)) as { readonly location: string };
      forgetConnection();
      location.assign(next);
    } catch (failure) {
      setError((failure as Error).message);
      setBusy(false);
    }
  };
  return (
    <form
      class="column"
      onSubmit={(event) => {
        event.preventDefault();
        void decide("allow");
      }}
    >
      <h2>Allow “{client}” to use this server?</h2>
      <dl class="pairs">
        <dt>In the name of</dt>
        <dd>{person?.email ?? `API key ${key?.description || key?.id}`}</dd>
        <dt>Account</dt>
        <dd>{account}</dd>
        <dt>Address</dt>
        <dd>{resource}</dd>
        <dt>Answer goes to</dt>
        <dd>{destination}</dd>
      </dl>
      <p>The application asks to:</p>
      <ul>
        {scopes.map((scope) => (
          <li key={scope}>
            {meanings[scope] ?? scope}
            {!possible.includes(scope) && <span class="muted"> (your role does not allow this)</span>}
          </li>
        ))}
      </ul>
      <p class="muted small">
        Continue only if you have just started this from the application. You can end its access under Access, Console
        sessions.
      </p>
      <Failed error={error} />
      <button type="submit" class="primary" disabled={isBusy}>
        Allow
      </button>
      <button type="button" disabled={isBusy} onClick={() => void decide("deny")}>
        Cancel
      </button>
    </form>
  );
}
