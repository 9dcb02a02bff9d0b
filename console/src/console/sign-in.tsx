/** Login with a passkey, a link, or an API key that is exchanged for a session. */
import { useEffect, useState } from "preact/hooks";
import { Command, TextInput } from "../ui/elements.tsx";
import { Logo } from "../ui/icon.tsx";
import {
  connection,
  enterWith,
  findSession,
  logIn,
  passkeyOrigin,
  provider,
  sendToConsole,
  session,
  whyOut,
} from "./api.ts";
import { hasPasskeys, usePasskey } from "./people/passkey.ts";

export function SignIn() {
  const [key, setKey] = useState("");
  const [isBusy, setBusy] = useState(false);
  // After a log-out the page does not know the ways to log in.
  useEffect(() => void findSession().catch(() => undefined), []);
  const submit = async (): Promise<void> => {
    setBusy(true);
    try {
      session.value = await logIn({ api_key: key.trim() });
    } catch {
      whyOut.value = "The server does not answer.";
    }
    setBusy(false);
  };
  return (
    <main class="sign-in">
      <form
        class="panel inside column"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <h1 class="brand">
          <Logo /> Postern
        </h1>
        {whyOut.value !== "" && (
          <p class="notice warn" role="alert">
            {whyOut.value}
          </p>
        )}
        {connection.value !== undefined && <p>Log in to connect the application.</p>}
        {provider.value && (
          <>
            <a class="button primary wide" href={provider.value.url}>
              Log in with {provider.value.title}
            </a>
            <hr />
          </>
        )}
        {passkeyOrigin.value !== undefined && (
          <>
            <PasskeyLogin origin={passkeyOrigin.value} />
            <hr />
          </>
        )}
        <p>On the server's machine, this command prints a login link:</p>
        <Command text="npx postern console" />
        <div class="field">
          <label for="api-key">Or an API key</label>
          <TextInput id="api-key" type="password" autocomplete="off" required value={key} onText={setKey} />
          <span class="muted small">
            The key is exchanged for a session of at most 12 hours, and not stored in the page.
          </span>
        </div>
        <button type="submit" class="primary" disabled={isBusy}>
          Log in
        </button>
      </form>
    </main>
  );
}

/** Passkeys work only at the address at which they were made. */
function PasskeyLogin({ origin }: { readonly origin: string }) {
  const [isBusy, setBusy] = useState(false);
  const logInWith = async (): Promise<void> => {
    setBusy(true);
    try {
      const { options } = await sendToConsole("passkey/options", {});
      const response = await usePasskey(options as never);
      await enterWith("passkey", { response });
    } catch (failure) {
      whyOut.value = (failure as Error).message;
      setBusy(false);
    }
  };
  if (location.origin !== origin || !hasPasskeys()) {
    return (
      <a
        class="button primary wide"
        href={`${origin}/${connection.value === undefined ? "" : `#authorize=${connection.value}`}`}
      >
        Log in with a passkey at {new URL(origin).host}
      </a>
    );
  }
  return (
    <button type="button" class="primary wide" disabled={isBusy} onClick={() => void logInWith()}>
      Log in with a passkey
    </button>
  );
}
