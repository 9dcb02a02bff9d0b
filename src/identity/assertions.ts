/** `postern-assertion`: who is logged in, signed for the service behind the route, once a minute for each session. */
import type { Clock } from "../lib/clock.ts";
import { Lru } from "../lib/lru.ts";
import type { LoginJobs } from "./calls/jobs.ts";
import type { Session } from "./session.ts";

/** A signing key as the control plane hands it out. */
export interface AssertionKey {
  readonly id: string;
  readonly keyPem: string;
  /** Public, as a JWK. */
  readonly jwk: Readonly<Record<string, unknown>>;
  /** It signs from then on; published before (milliseconds since 1970). */
  readonly signsFrom: number;
}

export interface AssertionFacts {
  readonly issuer: string;
  readonly audience: string;
  readonly routeId: string;
  readonly groups: readonly string[];
}

export interface Assertions {
  use(keys: readonly AssertionKey[]): void;
  /** The value to send along; undefined while there is no key. */
  of(session: Session, facts: AssertionFacts): string | undefined | Promise<string | undefined>;
  /** The key set that services verify by. */
  keySet(): string;
}

const freshMs = 60_000;
const goodMs = 110_000;
const lifetimeSeconds = 120;
/** Sessions whose assertion is remembered. */
const maxKept = 10_000;

interface Kept {
  text: string;
  madeAt: number;
  making: Promise<string | undefined> | undefined;
}

export function makeAssertions(jobs: LoginJobs, clock: Clock): Assertions {
  let keys: readonly AssertionKey[] = [];
  const kept = new Lru<string, Kept>(maxKept);

  const sign = (session: Session, facts: AssertionFacts): Promise<string | undefined> => {
    const now = Math.floor(clock.now() / 1000);
    const key = keys.filter(({ signsFrom }) => signsFrom <= clock.now()).sort((a, b) => b.signsFrom - a.signsFrom)[0];
    if (!key) return Promise.resolve(undefined);
    const { id, userId, identity, providerUrl } = session.record;
    const { email, emailVerified, name } = identity;
    const claims = {
      iss: facts.issuer,
      aud: facts.audience,
      sub: userId,
      iat: now,
      exp: now + lifetimeSeconds,
      ...(email !== "" && { email: email.slice(0, 320), email_verified: emailVerified }),
      ...(name !== "" && { name: name.slice(0, 128) }),
      ...(facts.groups.length > 0 && { groups: facts.groups.slice(0, 16) }),
      idp: providerUrl.slice(0, 256),
      sid: id,
      route: facts.routeId,
    };
    return jobs.sign({ keyId: key.id, keyPem: key.keyPem, claims });
  };
  return {
    use(given) {
      keys = given;
    },
    of(session, facts) {
      if (keys.length === 0) return undefined;
      const name = `${session.record.id} ${facts.routeId}`;
      let one = kept.get(name);
      if (!one) kept.set(name, (one = { text: "", madeAt: -Infinity, making: undefined }));
      const age = clock.monotonic() - one.madeAt;
      if (age < freshMs) return one.text;
      const present = one;
      one.making ??= sign(session, facts)
        .then((text) => {
          if (text !== undefined) Object.assign(present, { text, madeAt: clock.monotonic() });
          return text;
        })
        .finally(() => {
          present.making = undefined;
        });
      if (age >= goodMs) return one.making;
      one.making.catch(() => {});
      return one.text;
    },
    keySet: () => JSON.stringify({ keys: keys.map(({ jwk, id }) => ({ ...jwk, kid: id, alg: "ES256", use: "sig" })) }),
  };
}
