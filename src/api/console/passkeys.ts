/**
 * Passkeys (WebAuthn): challenges, and checks of what browsers return. Challenges are not stored: each carries its time
 * and a code of the server, so that anonymous requests do not fill the database, and all nodes accept them.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { DerivedKey } from "../../storage/store.ts";

/** What a registration proved. Texts are base64url. */
export interface NewPasskey {
  readonly credentialId: string;
  readonly publicKey: string;
  readonly counter: number;
  readonly isSynced: boolean;
}

export interface StoredPasskey extends Omit<NewPasskey, "isSynced"> {
  /** What the authenticator stores as the id of the user. */
  readonly userHandle: string;
}

export interface Passkeys {
  /** Returns the origin at which passkeys work. Undefined if they work at no origin. */
  origin(): string | undefined;
  registration(user: {
    readonly handle: string;
    readonly email: string;
    /** Ids of passkeys that the person has. */
    readonly present: readonly string[];
  }): Promise<PublicKeyCredentialCreationOptionsJSON>;
  /** Rejects with `Refusal` unless a browser on the console's page registered the passkey for `handle`. */
  register(response: unknown, handle: string): Promise<NewPasskey>;
  /** For any passkey, so that the page need not know who logs in. */
  request(): PublicKeyCredentialRequestOptionsJSON;
  /**
   * Rejects with `Refusal` unless the passkey signed a challenge that is at most five minutes old, on the console's
   * page. The caller accepts each challenge once.
   */
  verify(
    response: unknown,
    stored: StoredPasskey,
  ): Promise<{ readonly counter: number; readonly challenge: string; readonly untilMs: number }>;
}

/** How long a person may take, milliseconds. */
const livesMs = 5 * 60_000;
/** How far the clocks of two nodes may differ, milliseconds. */
const skewMs = 60_000;
/** Maximum size of a browser's response, bytes. */
const maxBytes = 32_768;
const nonceBytes = 24;
const timeBytes = 6;
const codeBytes = 32;
/** ES256, EdDSA and RS256, which all authenticators offer one of. */
const algorithms = [-7, -8, -257];

/**
 * @param keys of the database, which all nodes share
 * @param apiUrl the console's URL
 */
export function makePasskeys(keys: () => readonly DerivedKey[], apiUrl: () => string, clock: Clock): Passkeys {
  const origin = (): string | undefined => passkeyOrigin(apiUrl());
  const place = (): { readonly expectedOrigin: string; readonly expectedRPID: string } => {
    const expectedOrigin = origin();
    if (expectedOrigin === undefined) throw new Refusal("console_name_needed");
    return { expectedOrigin, expectedRPID: new URL(expectedOrigin).hostname };
  };
  const codeOf = ({ key }: DerivedKey, purpose: string, head: Buffer): Buffer =>
    createHmac("sha256", key).update(`${purpose}\n`).update(head).digest();
  const challenge = (purpose: string): Buffer => {
    const time = Buffer.alloc(timeBytes);
    time.writeUIntBE(clock.now(), 0, timeBytes);
    const head = Buffer.concat([time, randomBytes(nonceBytes)]);
    return Buffer.concat([head, codeOf(keys().at(-1) as DerivedKey, purpose, head)]);
  };
  /** Returns when the challenge expires, milliseconds since 1970. Undefined if it is not one of this server. */
  const endOf = (text: string, purpose: string): number | undefined => {
    const bytes = Buffer.from(text, "base64url");
    const head = bytes.subarray(0, timeBytes + nonceBytes);
    const code = bytes.subarray(head.length);
    if (code.length !== codeBytes) return undefined;
    if (!keys().some((key) => timingSafeEqual(codeOf(key, purpose, head), code))) return undefined;
    const made = head.readUIntBE(0, timeBytes);
    const untilMs = made + livesMs;
    return made <= clock.now() + skewMs && clock.now() < untilMs ? untilMs : undefined;
  };
  return {
    origin,
    async registration({ handle, email, present }) {
      const { expectedRPID: rpID } = place();
      return await (
        await loadWebAuthn()
      ).generateRegistrationOptions({
        rpName: "Postern",
        rpID,
        userName: email,
        userID: new Uint8Array(Buffer.from(handle, "ascii")),
        challenge: new Uint8Array(challenge(`register ${handle}`)),
        timeout: livesMs,
        attestationType: "none",
        supportedAlgorithmIDs: algorithms,
        excludeCredentials: present.map((id) => ({ id })),
        authenticatorSelection: { residentKey: "required", userVerification: "required" },
      });
    },
    async register(response, handle) {
      const { verifyRegistrationResponse } = await loadWebAuthn();
      const found = await refuseOnError(() =>
        verifyRegistrationResponse({
          ...place(),
          response: limitResponse(response) as unknown as RegistrationResponseJSON,
          expectedChallenge: (given) => endOf(given, `register ${handle}`) !== undefined,
          requireUserVerification: true,
          supportedAlgorithmIDs: algorithms,
        }),
      );
      if (!found.verified) throw refusePasskey("the registration is not valid");
      const { credential, credentialBackedUp } = found.registrationInfo;
      return {
        credentialId: credential.id,
        publicKey: Buffer.from(credential.publicKey).toString("base64url"),
        counter: credential.counter,
        isSynced: credentialBackedUp,
      };
    },
    request() {
      const { expectedRPID: rpId } = place();
      const text = challenge("log in").toString("base64url");
      return { rpId, challenge: text, timeout: livesMs, userVerification: "required" };
    },
    async verify(response, { credentialId: id, publicKey, counter, userHandle }) {
      const { verifyAuthenticationResponse } = await loadWebAuthn();
      const given = limitResponse(response) as unknown as AuthenticationResponseJSON;
      let seen = { challenge: "", untilMs: 0 };
      const found = await refuseOnError(() =>
        verifyAuthenticationResponse({
          ...place(),
          response: given,
          expectedChallenge: (text) => {
            const untilMs = endOf(text, "log in");
            if (untilMs !== undefined) seen = { challenge: text, untilMs };
            return untilMs !== undefined;
          },
          credential: { id, publicKey: new Uint8Array(Buffer.from(publicKey, "base64url")), counter },
          requireUserVerification: true,
        }),
      );
      // WebAuthn Level 3 §7.2 step 6: the passkey belongs to the user that the authenticator names.
      const handle = Buffer.from(userHandle, "ascii").toString("base64url");
      if (!found.verified || given.response.userHandle !== handle) throw refusePasskey("its signature is not valid");
      return { counter: found.authenticationInfo.newCounter, ...seen };
    },
  };
}

/**
 * Returns the origin at which browsers allow passkeys for this console: a name over TLS, or `localhost`. Addresses have
 * none. Requests cannot choose it, because a page at another port of the host could then pass on its own signatures.
 */
export function passkeyOrigin(apiUrl: string): string | undefined {
  const url = new URL(apiUrl);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (/^127\.|^::1?$|^0\.0\.0\.0$/.test(host)) url.hostname = "localhost";
  else if (isIP(host) !== 0) return undefined;
  const isHere = url.hostname === "localhost" || url.hostname.endsWith(".localhost");
  return url.protocol === "https:" || isHere ? url.origin : undefined;
}

/** Loaded with the first passkey, because it takes 7 MB. */
function loadWebAuthn() {
  return import("@simplewebauthn/server");
}

function limitResponse(response: unknown): JsonObject {
  const size = JSON.stringify(response ?? null).length;
  if (typeof response !== "object" || response === null || Array.isArray(response) || size > maxBytes) {
    throw refusePasskey(`the browser's response must be an object of at most ${maxBytes} bytes`);
  }
  const { response: inner } = response as { readonly response?: unknown };
  if (typeof inner !== "object" || inner === null) throw refusePasskey("the browser's response has no signature");
  return response as JsonObject;
}

/** The library throws for whatever is not as it must be. */
async function refuseOnError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw refusePasskey(error instanceof Error ? error.message.slice(0, 200) : "it cannot be read");
  }
}

function refusePasskey(why: string): Refusal {
  return new Refusal("passkey_refused", `check the passkey: ${why}`);
}
