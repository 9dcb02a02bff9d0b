/** A compiled route that requires a login with GitHub, without sockets. The test defines the providers' responses. */
import { after } from "node:test";
import type { TellLogin } from "../../src/identity/sessions/login-events.ts";
import { unknownIdentity } from "../../src/identity/calls/identity.ts";
import type { LoginJobs } from "../../src/identity/jobs/login-jobs.ts";
import { cookieHash } from "../../src/identity/sessions/login-session.ts";
import type { SessionRecord } from "../../src/identity/sessions/login-session.ts";
import type { LoginSettings } from "../../src/identity/browser/login-settings.ts";
import { modulesWith } from "../../src/modules/index.ts";
import { defaultsOf } from "../../src/settings/setting.ts";
import { webhookSettings } from "../../src/settings/webhooks.ts";
import type { Step } from "../../src/traffic/step.ts";
import { makeManualClock } from "./clock.ts";
import { exchangeOf } from "./exchange.ts";
import { putSession, testLogins } from "./logins.ts";
import { tableOf } from "./routing.ts";
import { httpsSite } from "./routing.ts";

export const ada = { ...unknownIdentity, subject: "1", email: "ada@example.com", emailVerified: true, name: "Ada" };

export const realm = { siteId: "edge", kind: "oauth", provider: "github", clientId: "c", cookiePrefix: "service." };

interface Options {
  readonly inactivity_timeout?: number;
  readonly maximum_duration?: number;
  readonly auth_check_interval?: number;
  readonly teams?: readonly string[];
  readonly options_passthrough?: boolean;
  readonly maxSessions?: number;
  /** The operator's apps. */
  readonly apps?: LoginSettings["apps"];
  readonly tell?: TellLogin;
}

interface Own {
  readonly id?: string;
  readonly match?: string;
  readonly cookie_prefix?: string;
  readonly ip_restriction?: object;
}

type Jobs = Partial<Pick<LoginJobs, "login" | "renew" | "sign">>;

/** Returns a guarded route, and a request with a session for it. */
export function guarded(
  { teams = [], maxSessions = 100, apps = {}, tell, login, renew, sign, ...given }: Options & Jobs,
  change: Partial<SessionRecord> = {},
) {
  const clock = makeManualClock();
  const jobs = { ...(login && { login }), ...(renew && { renew }), ...(sign && { sign }) };
  const logins = testLogins(clock, { maxSessions, apps }, jobs, tell);
  after(() => logins.close());
  const { table, put } = tableOf(clock, modulesWith(defaultsOf(webhookSettings), { logins }));
  put({ kind: "https_edge", id: "edge", doc: { hostports: ["app.example.com:443"] } });
  /**
   * Sets the lists of this route or of another one.
   * @param own the other route's id, path, cookie prefix and modules
   */
  const set = (
    more: object = {},
    { id = "route", match = "/", cookie_prefix = "service.", ...modules }: Own = {},
  ): void => {
    const github = {
      client_id: "c",
      client_secret: "s",
      scopes: [],
      email_addresses: [],
      email_domains: [],
      organizations: [],
      teams,
      ...more,
    };
    const oauth = {
      options_passthrough: false,
      cookie_prefix,
      inactivity_timeout: 0,
      maximum_duration: 0,
      auth_check_interval: 0,
      ...given,
      provider: { github },
    };
    put({
      kind: "https_edge_route",
      id,
      doc: { edge_id: "edge", match_type: "path_prefix", match, oauth, ...modules },
    });
  };
  set();
  const scopes = ["read:user", "user:email", "read:org"];
  const record = { scopes, identity: ada, refreshToken: "r", id: "appses_1", loginAt: clock.now(), ...change };
  const loginCookies = putSession(logins, clock, realm, record);
  /** Reports a use of the session at another edge, now. */
  const tellOfUse = (): void => {
    const kept = { cookieHash: cookieHash(loginCookies[1]) };
    putSession(logins, clock, realm, { ...record, ...kept, lastActive: clock.now() });
  };
  const ask = async (): Promise<Step> => {
    const module = httpsSite(table, "app.example.com")?.findRoute("/", "app.example.com")?.request[0];
    return (await module?.request?.(exchangeOf({ loginCookies, headers: { accept: "text/html" } }))) as Step;
  };
  const status = async (): Promise<number> => {
    const { answer } = await ask();
    return answer && "status" in answer ? answer.status : 200;
  };
  const siteNow = () => httpsSite(table, "app.example.com");
  const site = siteNow();
  return { clock, ask, status, set, put, logins, site, siteNow, tellOfUse, loginCookies };
}
