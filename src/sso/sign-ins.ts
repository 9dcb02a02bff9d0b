/**
 * Logins at the development identity provider, and requests that wait for one. Limited in number and stored in memory.
 */
import { randomBytes } from "node:crypto";
import { Lru } from "../lib/collections/lru.ts";
import { signInPage } from "./pages.ts";
import { personOf } from "./people.ts";
import type { Person } from "./people.ts";
import { plain } from "./reply.ts";
import type { Asked, Reply } from "./reply.ts";

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

export type Outcome = SignIn | "denied" | "failed";

export interface Wanted {
  /** Client that sends the request. */
  readonly client: string;
  /** Whether a logged-in user must log in again. */
  readonly anew: boolean;
  readonly finish: (outcome: Outcome) => Reply;
}

const maxKept = 1_000;
export const cookieName = "postern_sso";

export function newToken(): string {
  return randomBytes(32).toString("base64url");
}

export class SignIns {
  readonly #now: () => number;
  readonly #waiting = new Lru<string, Wanted>(maxKept);
  readonly #signIns = new Lru<string, SignIn>(maxKept);

  constructor(now: () => number) {
    this.#now = now;
  }

  of({ cookie }: Asked): SignIn | undefined {
    return cookie === "" ? undefined : this.#signIns.get(cookie);
  }

  byId(id: string): SignIn | undefined {
    return this.#signIns.get(id);
  }

  /** Continues with the logged-in user, or shows the login page. */
  want(asked: Asked, wanted: Wanted): Reply {
    const signIn = this.of(asked);
    if (signIn && !wanted.anew) return wanted.finish(signIn);
    const id = newToken();
    this.#waiting.set(id, wanted);
    return signInPage(id, wanted.client);
  }

  /** Handles the form of the login page. */
  answer(asked: Asked): Reply {
    const id = asked.form.get("request") ?? "";
    const wanted = this.#waiting.get(id);
    if (!wanted) return plain(400, "This login has expired: start again at the service.");
    const outcome = asked.form.get("outcome");
    if (outcome !== null) {
      this.#waiting.delete(id);
      return wanted.finish(outcome === "deny" ? "denied" : "failed");
    }
    const person = personOf(asked.form);
    if (!person) return plain(400, "Enter an id.");
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
