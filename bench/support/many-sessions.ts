/**
 * `many-sessions.ts DIRECTORY COUNT HOST SITE ROUTE`: adds COUNT logins of as many users to the database of a stopped
 * server.
 */
import { loadSealingKey } from "../../src/storage/sealing/sealing-key.ts";
import { unknownIdentity } from "../../src/identity/calls/identity.ts";
import { docOf } from "../../src/identity/sessions/session-records.ts";
import { cookieHash, newSessionCookie } from "../../src/identity/sessions/login-session.ts";
import { systemClock, formatTimestamp } from "../../src/lib/clock.ts";
import { newId } from "../../src/lib/ids.ts";
import { silentLog } from "../../src/lib/log.ts";
import { modules } from "../../src/modules/index.ts";
import { resources } from "../../src/resources/index.ts";
import { openStore } from "../../src/storage/opening/open-store.ts";
import { systemWrite } from "../../src/api/operation/system-write.ts";

const [directory = "", count = "", host = "", siteId = "", routeId = ""] = process.argv.slice(2);
const atOnce = 2_000;
const store = await openStore({
  database: "postern.db",
  dataDirectory: directory,
  declarations: { resources, modules },
  sealingKey: loadSealingKey(directory),
  clock: systemClock,
  log: silentLog,
});
const [account] = store.accounts();
if (!account) throw new Error("put sessions in: the database has no account");
const accountId = account.id;
for (let at = 0; at < Number(count); at += atOnce) {
  await store.write(systemWrite(accountId, "login", systemClock), (draft) => {
    for (let number = at; number < Math.min(at + atOnce, Number(count)); number += 1) {
      const now = systemClock.now();
      const [userId, id] = [newId("appusr", now), newId("appses", now)];
      const created_at = formatTimestamp(now);
      const common = { account_id: accountId, revision: 0, created_at };
      const identity = {
        ...unknownIdentity,
        subject: id,
        email: `user${number}@example.com`,
        emailVerified: true,
        name: `User ${number}`,
        username: `user${number}`,
      };
      const provider = { name: "GitHub", url: "https://github.com" };
      const user = {
        identity_provider: provider,
        provider_user_id: identity.subject,
        username: identity.username,
        email: identity.email,
        name: identity.name,
        last_active: created_at,
        last_login: created_at,
      };
      draft.revive({ kind: "application_user", id: userId, ...common, doc: user });
      const record = {
        id,
        accountId,
        userId,
        cookieHash: cookieHash(newSessionCookie()),
        realm: "abcdefgh",
        host,
        siteId,
        routeId,
        providerName: provider.name,
        providerUrl: provider.url,
        clientId: "client",
        loginAt: now,
        lastActive: now,
        checkedAt: now,
        scopes: ["read:user", "user:email"],
        identity,
        accessToken: "",
        refreshToken: "",
        idToken: "",
        maximumDuration: 0,
        inactivityTimeout: 0,
      };
      const session = {
        ...docOf(record),
        public_url: `https://${host}`,
        browser_session: { user_agent: { raw: "bench" }, ip_address: "127.0.0.1", location: null },
        last_active: created_at,
        expires_at: formatTimestamp(now + 30 * 86_400_000),
      };
      draft.revive({ kind: "application_session", id, ...common, doc: session });
    }
  });
}
// The writing thread does not keep the process alive.
const alive = setInterval(() => {}, 1_000);
await store.close();
clearInterval(alive);
