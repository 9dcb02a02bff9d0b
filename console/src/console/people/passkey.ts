/** Creates and uses passkeys. The server makes the options and checks the responses. */

/** Whether this browser has passkeys at this address. */
export function hasPasskeys(): boolean {
  return "PublicKeyCredential" in globalThis && "parseCreationOptionsFromJSON" in PublicKeyCredential;
}

/** Rejects with an error whose message is a sentence. */
export async function createPasskey(options: PublicKeyCredentialCreationOptionsJSON): Promise<unknown> {
  return await askForPasskey("create", () =>
    navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) }),
  );
}

/** Rejects with an error whose message is a sentence. */
export async function usePasskey(options: PublicKeyCredentialRequestOptionsJSON): Promise<unknown> {
  return await askForPasskey("use", () =>
    navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) }),
  );
}

async function askForPasskey(what: "create" | "use", ask: () => Promise<Credential | null>): Promise<unknown> {
  try {
    const made = await ask();
    if (made instanceof PublicKeyCredential) return made.toJSON();
  } catch (error) {
    if (error instanceof DOMException && error.name === "InvalidStateError") {
      throw new Error("This device already has a passkey of yours. Use it to log in.", { cause: error });
    }
  }
  throw new Error(`Your browser did not ${what} a passkey. Try again, and confirm its question.`);
}
