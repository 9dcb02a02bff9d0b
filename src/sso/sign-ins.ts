/**
 * Logins at the development identity provider, and requests that wait for one. Limited in number and stored in memory.
 */
import { randomBytes } from "node:crypto";
import { Lru } from "../lib/collections/lru.ts";
import { signInPage } from "./sign-in-pages.ts";
import { personOf } from "./sample-people.ts";
import type { Person } from "./sample-people.ts";
import { replyText } from "./provider-reply.ts";
import type { ProviderRequest, ProviderReply } from "./provider-reply.ts";

export interface SignIn {
  readonly id: string;
  readonly person: Person;
  /** Time of the login, milliseconds since 1970. */
  readonly at: number;
  /** Functions that notify OpenID Connect services of its end, by their tags. */
  readonly ends: Map<string, () => Promise<void>>;
  /** Entity ids of SAML services with this login. */
  readonly services: Set<string>;
}

export type SignInResult = SignIn | "denied" | "failed";

export interface SignInRequest {
  /** Client that sends the request. */
  readonly client: string;
  /** Whether a logged-in user must log in again. */
  readonly anew: boolean;
  readonly finish: (outcome: SignInResult) => ProviderReply;
}

const maxKept = 1_000;
export const cookieName = "postern_sso";

export function newToken(): string {
  return randomBytes(32).toString("base64url");
}

export class SignIns {
  readonly #now: () => number;
  readonly #waiting = new Lru<string, SignInRequest>(maxKept);
  readonly #signIns = new Lru<string, SignIn>(maxKept);

  constructor(now: () => number) {
    this.#now = now;
  }

  of({ cookie }: ProviderRequest): SignIn | undefined {
    return cookie === "" ? undefined : this.#signIns.get(cookie);
  }

  byId(id: string): SignIn | undefined {
    return this.#signIns.get(id);
  }

  /** Continues with the logged-in user, or shows the login page. */
  want(asked: ProviderRequest, wanted: SignInRequest): ProviderReply {
    const signIn = this.of(asked);
    if (signIn && !wanted.anew) return wanted.finish(signIn);
    const id = newToken();
    this.#waiting.set(id, wanted);
    return signInPage(id, wanted.client);
  }

  /** Handles the form of the login page. */
  answer(asked: ProviderRequest): ProviderReply {
    const id = asked.form.get("request") ?? "";
    const wanted = this.#waiting.get(id);
    if (!wanted) return replyText(400, "This login has expired: start again at the service.");
    const outcome = asked.form.get("outcome");
    if (outcome !== null) {
      this.#waiting.delete(id);
      return wanted.finish(outcome === "deny" ? "denied" : "failed");
    }
    const person = personOf(asked.form);
    if (!person) return replyText(400, "Enter an id.");
    this.#waiting.delete(id);
    const signIn: SignIn = { id: newToken(), person, at: this.#now(), ends: new Map(), services: new Set() };
    this.#signIns.set(signIn.id, signIn);
    const reply = wanted.finish(signIn);
    const cookie = `${cookieName}=${signIn.id}; Path=/; HttpOnly; SameSite=Lax`;
    return { ...reply, headers: { ...reply.headers, "set-cookie": cookie } };
  }

  end(signIn: SignIn): void {
    this.#signIns.delete(signIn.id);
  }
}
