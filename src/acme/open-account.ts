/** An account at an ACME server, and signed requests for it. */
import type { Clock } from "../lib/clock.ts";
import type { AcmeAnswer, AcmeConnection } from "./acme-connection.ts";
import type { Directory } from "./acme-directory.ts";
import { readAccountKey } from "./jws.ts";
import type { ExternalAccount } from "./jws.ts";
import { AcmeProblem, readProblem } from "./problem.ts";

export interface AcmeAccount {
  readonly directory: Directory;
  readonly thumbprint: string;
  /**
   * Sends a signed POST; without `payload` a POST-as-GET (RFC 8555 §6.3). Resolves with successful answers only.
   * Rejects with `AcmeProblem`, whose message starts with `what`.
   */
  post(what: string, url: string, payload?: object): Promise<AcmeAnswer>;
  /** Reads `url` until `isPending` returns false. Rejects with `timeout` after some minutes. */
  poll(what: string, url: string, isPending: (answer: AcmeAnswer) => boolean): Promise<AcmeAnswer>;
}

export interface AccountOptions {
  readonly connection: AcmeConnection;
  readonly directory: Directory;
  readonly keyPem: string;
  /** Contact address for the authority. */
  readonly email: string | undefined;
  /** Used only if the authority requires it. */
  readonly externalAccount: ExternalAccount | undefined;
  readonly clock: Clock;
}

const maxNonces = 8;
/** Servers refuse expired nonces and send a new one with the refusal (RFC 8555 §6.5). */
const maxNonceTries = 8;
const maxPollMs = 180_000;
const firstPollMs = 250;
const longestPollMs = 10_000;

/** Registers the key, or finds its account. The operator has agreed to the authority's terms. */
export async function openAccount(options: AccountOptions): Promise<AcmeAccount> {
  const { connection, directory, clock, email, externalAccount } = options;
  if (directory.externalAccountRequired && !externalAccount) {
    throw new AcmeProblem(
      "externalAccountRequired",
      "the authority requires an external account: the server's operator sets --acme-eab-key and --acme-eab-secret",
    );
  }
  const key = readAccountKey(options.keyPem);
  let nonces: string[] = [];
  let accountUrl: string | undefined;

  const keepNonce = ({ headers }: AcmeAnswer): void => {
    const nonce = headers["replay-nonce"];
    if (typeof nonce === "string" && /^[A-Za-z0-9_-]{1,256}$/.test(nonce))
      nonces = [...nonces, nonce].slice(-maxNonces);
  };
  const takeNonce = async (): Promise<string> => {
    if (nonces.length === 0) keepNonce(await connection.send("HEAD", directory.newNonce));
    const nonce = nonces.pop();
    if (nonce === undefined) throw new AcmeProblem("malformedAnswer", "the authority gives no nonce");
    return nonce;
  };
  const post: AcmeAccount["post"] = async (what, url, payload) => {
    for (let tries = 1; ; tries += 1) {
      const nonce = await takeNonce();
      const answer = await connection.send("POST", url, key.sign({ url, nonce, accountUrl, payload }));
      keepNonce(answer);
      if (answer.status >= 200 && answer.status < 300) return answer;
      const problem = readProblem(extractProblem(answer), what, answer.retryAfterMs);
      if (problem.type !== "badNonce" || tries === maxNonceTries) throw problem;
    }
  };

  const contact = email === undefined ? [] : [`mailto:${email}`];
  const registered = await post("register an account", directory.newAccount, {
    termsOfServiceAgreed: true,
    contact,
    ...(directory.externalAccountRequired &&
      externalAccount && { externalAccountBinding: key.bind(externalAccount, directory.newAccount) }),
  });
  const { location } = registered.headers;
  if (location === undefined) throw new AcmeProblem("malformedAnswer", "the authority names no account");
  accountUrl = location;
  const known = (registered.json()["contact"] ?? []) as unknown;
  if (registered.status === 200 && JSON.stringify(known) !== JSON.stringify(contact)) {
    await post("change the account's contact", accountUrl, { contact });
  }
  return {
    directory,
    thumbprint: key.thumbprint,
    post,
    async poll(what, url, isPending) {
      const endsAt = clock.monotonic() + maxPollMs;
      for (let delayMs = firstPollMs; ; delayMs = Math.min(delayMs * 2, longestPollMs)) {
        const answer = await post(what, url);
        if (!isPending(answer)) return answer;
        const waitMs = Math.min(Math.max(delayMs, answer.retryAfterMs ?? 0), longestPollMs);
        if (clock.monotonic() + waitMs > endsAt) throw new AcmeProblem("timeout", `${what}: no result in time`);
        await connection.pause(waitMs);
      }
    },
  };
}

/** Reads the problem document of an answer. Other answers yield only their status. */
function extractProblem(answer: AcmeAnswer): unknown {
  try {
    return answer.json();
  } catch {
    return { detail: `the authority answers with status ${answer.status}` };
  }
}
