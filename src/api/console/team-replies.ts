/** Replies of the console during a login with the team's identity provider. */
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { personInvitation } from "../../resources/person-invitation.ts";
import { docOf } from "../../schema/doc.ts";
import { readForm } from "../http/body.ts";
import type { ApiExchange } from "../http/api-exchange.ts";
import type { FrontReply } from "../http/front.ts";
import type { Reply } from "../operation/call.ts";
import { flowCookieField, sessionCookieField } from "./cookie.ts";
import type { Applications } from "./applications.ts";
import type { Members } from "./members.ts";

import type { ConsoleSessions } from "./console-sessions.ts";

import type { TeamVisit } from "./team-visit.ts";
import { callbackPath, loginPath, logoutPath } from "./team-login.ts";
import type { Team } from "./team.ts";

type AdmitKey = Parameters<FrontReply["run"]>[0];

/** Returns undefined for other paths. */
export type TeamReplies = (exchange: ApiExchange, path: string, baseUrl: string) => FrontReply | undefined;

export function makeTeamReplies(
  { login, people, checks }: Team,
  sessions: ConsoleSessions,
  members: Members,
  applications: Pick<Applications, "finish">,
  clock: Clock,
): TeamReplies {
  const begin = async (baseUrl: string): Promise<Reply> => {
    const { location, cookie } = await login.begin(baseUrl);
    return { status: 303, headers: ["location", location, "set-cookie", cookie] };
  };
  /** Accepts an invitation for the user. Resolves with its account. */
  const accept = async (
    code: string,
    { person }: TeamVisit,
    { request, operationId }: ApiExchange,
    admit: AdmitKey,
  ): Promise<string> => {
    const invitation = await members.invitation(code);
    // A link that went astray gives nothing to another user of the provider.
    const { email } = docOf(invitation, personInvitation);
    if (!person.emailVerified || person.email.toLowerCase() !== email) throw new Refusal("console_person_refused");
    admit(members.invited(invitation).key);
    const source = request.socket.remoteAddress ?? "";
    await members.accept(invitation, person.name, { subject: people.subjectOf(person) }, { source, operationId });
    return invitation.account_id;
  };
  /** The new session gets a new cookie. A cookie that the browser already had could be planted. */
  const finish = async (exchange: ApiExchange, baseUrl: string, admit: AdmitKey): Promise<Reply> => {
    const { request, operationId } = exchange;
    const { invitation, application, ...visit } = await login.finish(
      request,
      new URL(request.url ?? "", baseUrl).searchParams,
      baseUrl,
    );
    if (application !== undefined) return endFlow(baseUrl, await applications.finish(application, visit), []);
    const accountId = invitation === undefined ? undefined : await accept(invitation, visit, exchange, admit);
    const { key, personId } = people.admit(visit.person, accountId);
    admit(key);
    const { cookie, session } = await sessions.open(key, { visit, personId }, request, operationId);
    return endFlow(baseUrl, "/", ["set-cookie", sessionCookieField(baseUrl, cookie, session, clock)]);
  };
  /** OpenID Connect Back-Channel Logout 1.0 §2.5: the provider calls this itself, with only its token. */
  const receiveLogout = async ({ request, response, expectsContinue }: ApiExchange): Promise<Reply> => {
    const form = await readForm(request, response, expectsContinue);
    const [token = "", ...others] = form.getAll("logout_token");
    await login.loggedOut(others.length === 0 ? token : "", checks.loggedOut);
    return { status: 200, headers: ["cache-control", "no-store"] };
  };
  return (exchange, path, baseUrl) => {
    if (path === logoutPath && exchange.request.method === "POST") {
      return { byKey: true, run: () => receiveLogout(exchange) };
    }
    if (exchange.request.method !== "GET") return undefined;
    if (path === loginPath) return { ...byProvider(baseUrl), run: () => begin(baseUrl) };
    if (path === callbackPath) return { ...byProvider(baseUrl), run: (admit) => finish(exchange, baseUrl, admit) };
    return undefined;
  };
}

/** The redirect contains only the name of a refusal, so that no one can inject text into the page. */
function byProvider(baseUrl: string): Pick<FrontReply, "byKey" | "refused"> {
  return { byKey: true, refused: ({ reason }) => endFlow(baseUrl, `/#refused=${reason}`, []) };
}

/** Ends the flow and deletes its cookie. */
function endFlow(baseUrl: string, location: string, more: readonly string[]): Reply {
  const headers = ["set-cookie", flowCookieField(baseUrl, "", 0), "location", location, ...more];
  return { status: 303, headers };
}
