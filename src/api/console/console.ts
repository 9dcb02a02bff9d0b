/** The console: its pages at `/`, and logins. Everything else is the API, called with a console session. */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { Pages } from "../../pages/pages.ts";
import type { Store } from "../../storage/store.ts";
import type { KeyRing } from "../http/authenticate.ts";
import type { EdgeQueries } from "../edges/queries.ts";
import type { ApiExchange } from "../http/api-exchange.ts";
import type { Front, FrontReply } from "../http/front.ts";
import type { Reply } from "../operation/call.ts";
import type { MetadataDocuments } from "../authorization/metadata-documents.ts";
import { consentPath, makeApplicationReplies } from "./application-replies.ts";
import { makeApplications } from "./applications.ts";
import type { Applications } from "./applications.ts";
import { makeCodes } from "./codes.ts";
import type { Codes } from "./codes.ts";
import { readCookie } from "./cookie.ts";
import { makeLiveTellers } from "./live-tellers.ts";
import { makeMemberReplies } from "./member-replies.ts";
import { makeMembers } from "./members.ts";
import { makePasskeys } from "./passkeys.ts";
import { checkHost, checkOrigin } from "./origin-checks.ts";
import { checkToken, makeSessionReplies } from "./session-replies.ts";
import { openConsoleSessions } from "./console-sessions.ts";
import { makeTeamReplies } from "./team-replies.ts";
import type { Team } from "./team.ts";

export interface ConsoleOptions {
  readonly store: Store;
  readonly keys: KeyRing;
  readonly clock: Clock;
  readonly queries: Pick<EdgeQueries, "ask">;
  /** The address that the operator configured, if any. */
  readonly apiUrl: string | undefined;
  /** The address at which the API is reached. */
  readonly reachedAt: () => string;
  /** Undefined without an identity provider. */
  readonly team: Team | undefined;
  /** Documents about clients, by their URL. */
  readonly documents: MetadataDocuments;
  /** Redirect URIs of applications that do not run on the person's machine. */
  readonly redirectUris: readonly string[];
}

export interface Console extends Front {
  readonly applications: Applications;
  readonly codes: Codes;
}

type AdmitKey = Parameters<FrontReply["run"]>[0];

/** Purpose of the keys of challenges. */
const passkeyPurpose = "console passkeys";
const sessionPath = "/console/session";
const kitPath = "/console/kit";
const livePath = "/console/live";

export function openConsole(options: ConsoleOptions): Console {
  const { store, keys, clock, queries, apiUrl, reachedAt, team } = options;
  const codes = makeCodes(store, clock);
  const members = makeMembers(store, clock);
  const sessions = openConsoleSessions(store, keys, team, members, clock);
  const passkeys = makePasskeys(() => store.derivedKeys(passkeyPurpose), reachedAt, clock);
  const live = makeLiveTellers(store, queries, clock);
  const page = makePageReplies();
  const applications = makeApplications({ ...options, sessions });
  const teamReplies = team && makeTeamReplies(team, sessions, members, applications, clock);

  const replies = makeSessionReplies({ store, keys, codes, sessions, team, passkeys, clock });
  const applicationReplies = makeApplicationReplies({ store, applications, replies });
  const memberReplies = makeMemberReplies({ store, members, passkeys, sessions, replies, team });
  const listen = ({ request, response }: ApiExchange, baseUrl: string, admit: AdmitKey): void => {
    const [{ key }, cookie] = replies.sessionOf(request, baseUrl);
    admit(key);
    live.begin(key.principal.accountId, () => sessions.holds(cookie), response);
  };

  return {
    codes,
    applications,
    reply(exchange, path, baseUrl) {
      const { request } = exchange;
      const { method } = request;
      if (path === sessionPath) {
        checkHost(request, apiUrl);
        checkOrigin(request);
        if (method === "POST") return { byKey: true, run: (admit) => replies.logIn(exchange, baseUrl, admit) };
        if (method === "DELETE") return { run: () => replies.logOut(exchange, baseUrl) };
        return { run: async (admit) => replies.who(request, baseUrl, admit) };
      }
      const byTeam = teamReplies?.(exchange, path, baseUrl);
      if (byTeam) {
        checkHost(request, apiUrl);
        return byTeam;
      }
      const byApplication = applicationReplies(exchange, path, baseUrl);
      if (byApplication) {
        checkHost(request, apiUrl);
        if (path === consentPath) checkOrigin(request);
        return byApplication;
      }
      const byMember = memberReplies(exchange, path, baseUrl);
      if (byMember) {
        checkHost(request, apiUrl);
        checkOrigin(request);
        return byMember;
      }
      if (path === livePath && method === "GET") {
        checkHost(request, apiUrl);
        checkOrigin(request);
        return { run: async (admit) => void listen(exchange, baseUrl, admit) };
      }
      if (method !== "GET" && method !== "HEAD") return undefined;
      if (path !== "/" && path !== kitPath && !path.startsWith("/assets/")) return undefined;
      checkHost(request, apiUrl);
      return {
        run: async () => {
          const found = await page(path, request);
          if (!found) throw new Refusal("unknown_path", `there is no path ${JSON.stringify(path.slice(0, 128))}`);
          return found;
        },
      };
    },
    keyOf(request, baseUrl) {
      const cookie = readCookie(request, baseUrl);
      if (cookie === undefined) return undefined;
      checkHost(request, apiUrl);
      checkOrigin(request);
      checkToken(request, cookie);
      return sessions.find(cookie).key;
    },
    awaited(request, baseUrl) {
      const cookie = readCookie(request, baseUrl);
      return cookie === undefined ? undefined : sessions.awaited(cookie);
    },
    stop() {
      live.stop();
      team?.login.stop();
      applications.stop();
    },
  };
}

/** Serves the page's files, which are read on the first request. Returns undefined for other paths. */
function makePageReplies(): (path: string, request: IncomingMessage) => Promise<Reply | undefined> {
  let pages: Pages | undefined;
  return async (path, request) => {
    pages ??= (await import("../../pages/pages.ts")).openPages("index.html");
    const found = pages.get(path, request.headers["accept-encoding"]);
    if (!found) return undefined;
    const { "content-type": contentType, "cache-control": cacheControl, ...more } = found.headers;
    const headers = Object.entries(more).filter(([name]) => name !== "x-content-type-options");
    return {
      status: found.status,
      body: found.body,
      contentLength: String(found.body.length),
      ...(contentType !== undefined && { contentType }),
      ...(cacheControl !== undefined && { cacheControl }),
      headers: headers.flat(),
    };
  };
}
