/** Logins on an edge without a provider: a key that seals flows, and one session that is valid at the site "edge". */
import type { LoginJobs } from "../../src/identity/jobs/login-jobs.ts";
import { makeLogins } from "../../src/identity/login-engine.ts";
import type { LoginContext } from "../../src/identity/guard/login-context.ts";
import type { TellLogin } from "../../src/identity/sessions/login-events.ts";
import type { Logins } from "../../src/identity/login-engine.ts";
import { realmOf } from "../../src/identity/browser/realm.ts";
import type { RealmParts } from "../../src/identity/browser/realm.ts";
import { docOf, sessionKind } from "../../src/identity/sessions/session-records.ts";
import { cookieHash, newSessionCookie } from "../../src/identity/sessions/login-session.ts";
import type { SessionRecord } from "../../src/identity/sessions/login-session.ts";
import type { LoginSettings } from "../../src/identity/browser/login-settings.ts";
import type { ResourceObject } from "../../src/schema/object.ts";
import type { PackedObjects } from "../../src/schema/packed.ts";
import { kindsOf } from "../../src/storage/rows/kinds.ts";
import { storedKinds } from "../../src/storage/opening/stored-kinds.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import { makeMetrics } from "../../src/lib/metrics.ts";
import { formatTimestamp } from "../../src/lib/clock.ts";

export const flowKeyObject = (now: number) => ({
  kind: "login_key",
  id: "lgnkey_1",
  account_id: "ac_1",
  revision: 1,
  doc: {
    purpose: "flow",
    key: Buffer.alloc(32, 7).toString("base64url"),
    made_at: formatTimestamp(now),
    used_from: formatTimestamp(now),
  },
});

const defaults: LoginSettings = {
  idpHost: "idp.example.com",
  httpsPort: () => 443,
  apps: {},
  ca: undefined,
  allowLocal: false,
  issuers: [],
  maxSessions: 100_000,
  idleDays: 30,
  skewSeconds: 60,
  sharedCallback: false,
  isShared: false,
};

const never = (): Promise<never> => Promise.reject(new Error("no provider is called here"));
const metadata = {
  authorizeUrl: "https://192.0.2.1/authorize",
  parameters: {},
  scopeSeparator: " ",
  pkce: true,
  nonce: true,
  openid: true,
  otherAccount: {},
  title: "192.0.2.1",
  url: "https://192.0.2.1",
  issuer: "https://192.0.2.1",
  returnsIssuer: false,
};
/** Knows where an issuer sends visitors, and sends no requests. */
const jobs = {
  metadata: () => Promise.resolve(metadata),
  login: never,
  renew: never,
  logoutUrl: never,
  loggedOut: never,
  sign: never,
  close: () => {},
};

export function testLogins(
  clock: Clock,
  settings: Partial<LoginSettings> = {},
  own: Partial<LoginJobs> = {},
  tell: TellLogin = () => {},
  siteFor: LoginContext["siteFor"] = (host) => ({
    accountId: "ac_1",
    hosts: [host],
    findRoute: () => undefined,
    advertises: () => true,
  }),
): Logins {
  const logins = makeLogins({
    settings: { ...defaults, ...settings },
    clock,
    log: silentLog,
    metrics: makeMetrics(),
    send: () => {},
    tell,
    placeOf: () => undefined,
    siteFor,
    jobs: { ...jobs, ...own },
  });
  logins.change([{ ...flowKeyObject(clock.now()), object: flowKeyObject(clock.now()) }]);
  return logins;
}

/** Stores a session. Returns its cookies, names and values alternating. */
export function putSession(
  logins: Logins,
  clock: Clock,
  realm: RealmParts,
  change: Partial<SessionRecord> = {},
): readonly [name: string, value: string] {
  const { object, cookie } = sessionOf(clock, realm, change);
  logins.change([{ kind: object.kind, id: object.id, object }]);
  return cookie;
}

/**
 * Returns sessions as an edge gets them in a snapshot.
 * @param more additional fields of their documents
 */
export function snapshotOf(records: readonly SessionRecord[], more: object = {}): PackedObjects {
  const packing = kindsOf(storedKinds).get(sessionKind)?.packing;
  if (!packing) throw new Error("pack sessions: their kind is not declared so");
  const commons: { account_id: string; text: string }[] = [];
  const objects = records.map((record) => {
    const doc = { ...docOf(record), last_active: formatTimestamp(record.lastActive), ...more };
    const { own, common } = packing.pack(doc);
    commons.push({ account_id: record.accountId, text: common });
    return `${commons.length - 1} ${record.id} ${own}\n`;
  });
  return { kind: sessionKind, commons, objects: new TextEncoder().encode(objects.join("")) };
}

/** Returns a session as the control plane sends it to an edge, and the session's cookie. */
export function sessionOf(
  clock: Clock,
  realm: RealmParts,
  change: Partial<SessionRecord> = {},
): { readonly object: ResourceObject; readonly cookie: readonly [name: string, value: string] } {
  const { tag, sessionCookie } = realmOf(realm);
  const value = newSessionCookie();
  const now = clock.now();
  const record: SessionRecord = {
    id: `appses_${cookieHash(value).slice(0, 8)}`,
    accountId: "ac_1",
    userId: "appusr_1",
    cookieHash: cookieHash(value),
    realm: tag,
    host: "app.example.com",
    siteId: realm.siteId,
    routeId: "route",
    providerName: "GitHub",
    providerUrl: "https://github.com",
    clientId: realm.clientId,
    loginAt: now,
    lastActive: now,
    checkedAt: now,
    scopes: ["read:user", "user:email", "openid", "profile", "email"],
    identity: {
      subject: "1",
      email: "ada@example.com",
      emailVerified: true,
      name: "Ada",
      username: "ada",
      memberships: [],
      providerSession: "",
      authenticatedAt: 0,
      managedDomain: "",
    },
    accessToken: "",
    refreshToken: "",
    idToken: "",
    maximumDuration: 0,
    inactivityTimeout: 0,
    ...change,
  };
  const doc = { ...docOf(record), last_active: formatTimestamp(record.lastActive) };
  const object = { kind: "application_session", id: record.id, account_id: record.accountId, revision: 1, doc };
  return { object, cookie: [sessionCookie, value] };
}
