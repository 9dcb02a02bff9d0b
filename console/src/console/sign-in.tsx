/** Login with a link, or with an API key that is exchanged for a session. */
import { useState } from "preact/hooks";
import { Command, TextInput } from "../ui/elements.tsx";
import { Logo } from "../ui/icon.tsx";
import { logIn, provider, session, whyOut } from "./api.ts";

export function SignIn() {
  const [key, setKey] = useState("");
  const [isBusy, setBusy] = useState(false);
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
        {provider.value && (
          <>
            <a class="button primary wide" href={provider.value.url}>
              Log in with {provider.value.title}
            </a>
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
