/** Replies of the console to people: accepting an invitation, and logging in with a passkey. */
import { docOf } from "../../schema/doc.ts";
import type { JsonObject } from "../../lib/json.ts";
import { Refusal } from "../../lib/errors.ts";
import { personInvitation } from "../../resources/person-invitation.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import { readBody } from "../http/body.ts";
import type { ApiExchange } from "../http/api-exchange.ts";
import type { FrontReply } from "../http/front.ts";
import type { Operation, Reply } from "../operation/call.ts";
import type { Member, Members } from "./members.ts";
import { toStoredPasskey } from "./members.ts";
import type { Passkeys } from "./passkeys.ts";
import type { SessionReplies } from "./session-replies.ts";
import type { ConsoleSessions } from "./console-sessions.ts";
import type { Opener } from "./open-session.ts";
import type { Team } from "./team.ts";

type AdmitKey = Parameters<FrontReply["run"]>[0];

interface MemberRepliesOptions {
  readonly store: Pick<Store, "accounts">;
  readonly members: Members;
  readonly passkeys: Passkeys;
  readonly sessions: ConsoleSessions;
  readonly replies: Pick<SessionReplies, "opened">;
  readonly team: Team | undefined;
}

/** Returns undefined for other paths. */
export type MemberReplies = (exchange: ApiExchange, path: string, baseUrl: string) => FrontReply | undefined;

const invitationPath = "/console/invitation";
const acceptPath = "/console/invitation/accept";
const providerPath = "/console/invitation/login";
const optionsPath = "/console/passkey/options";
const passkeyPath = "/console/passkey";

const reading: Pick<Operation, "id" | "takes"> = { id: "openConsoleSession", takes: "object" };
const maxNameBytes = 255;

export function makeMemberReplies(options: MemberRepliesOptions): MemberReplies {
  const { store, members, passkeys, sessions, replies, team } = options;
  const bodyOf = ({ request, response, expectsContinue }: ApiExchange): Promise<JsonObject> =>
    readBody(reading as Operation, request, response, expectsContinue);
  /** Returns what the page of an invitation shows and needs. */
  const show = async (invitation: StoredObject): Promise<JsonObject> => {
    const { email, role, expires_at, person_id } = docOf(invitation, personInvitation);
    const account = store.accounts().find(({ id }) => id === invitation.account_id)?.name ?? "";
    const shown = { email, role, expires_at, account, is_known: person_id !== "" };
    if (team) return { ...shown, login_title: team.login.title };
    const user = { handle: invitation.id, email, present: members.credentialsOf(person_id) };
    return { ...shown, passkey_origin: passkeys.origin() ?? null, options: await passkeys.registration(user) };
  };
  const open = async (
    { key, ...opener }: Opener & Member,
    { request, operationId }: ApiExchange,
    baseUrl: string,
  ): Promise<Reply> => replies.opened(await sessions.open(key, opener, request, operationId), baseUrl);
  const accept = async (exchange: ApiExchange, baseUrl: string, admit: AdmitKey): Promise<Reply> => {
    refuseWithTeam(team);
    const { code, name, response } = await bodyOf(exchange);
    const invitation = await members.invitation(code);
    admit(members.invited(invitation).key);
    const proof = await passkeys.register(response, invitation.id);
    const from = { source: exchange.request.socket.remoteAddress ?? "", operationId: exchange.operationId };
    return open(await members.accept(invitation, nameIn(name), proof, from), exchange, baseUrl);
  };
  const logIn = async (exchange: ApiExchange, baseUrl: string, admit: AdmitKey): Promise<Reply> => {
    refuseWithTeam(team);
    const { response } = await bodyOf(exchange);
    const found = await members.passkey((response as { readonly id?: unknown } | undefined)?.id);
    const opener = members.logIn(found, await passkeys.verify(response, toStoredPasskey(found)));
    admit(opener.key);
    return open(opener, exchange, baseUrl);
  };
  const begin = async (exchange: ApiExchange, baseUrl: string): Promise<Reply> => {
    const { code } = await bodyOf(exchange);
    await members.invitation(code);
    if (!team) throw new Refusal("console_login_failed", "log in: the console has no identity provider");
    const { location, cookie } = await team.login.begin(baseUrl, { invitation: String(code) });
    return { ...replyJson({ location }), headers: ["set-cookie", cookie] };
  };
  return (exchange, path, baseUrl) => {
    if (exchange.request.method !== "POST") return undefined;
    switch (path) {
      case invitationPath:
        return limitTries(async () =>
          replyJson(await show(await members.invitation((await bodyOf(exchange))["code"]))),
        );
      case acceptPath:
        return limitTries((admit) => accept(exchange, baseUrl, admit));
      case providerPath:
        return limitTries(() => begin(exchange, baseUrl));
      case passkeyPath:
        return limitTries((admit) => logIn(exchange, baseUrl, admit));
      case optionsPath:
        return limitTries(async () => {
          refuseWithTeam(team);
          await bodyOf(exchange);
          return replyJson({ options: passkeys.request() as unknown as JsonObject });
        });
    }
    return undefined;
  };
}

/** Counts wrong codes and passkeys, and rejects them above the limit (D9). */
function limitTries(run: (admit: AdmitKey) => Promise<Reply>): FrontReply {
  return { byKey: true, run };
}

/** With an identity provider, people log in there and nowhere else, so that it can lock them out. */
function refuseWithTeam(team: Team | undefined): void {
  if (team) throw new Refusal("passkey_refused", `log in with a passkey: people log in with ${team.login.title}`);
}

function replyJson(body: JsonObject): Reply {
  return { status: 200, body: JSON.stringify(body) };
}

/** Returns the name that a person gave, without line breaks and other control characters. */
function nameIn(value: unknown): string {
  const text = typeof value === "string" ? value : "";
  return Buffer.from(text.replaceAll(/\p{Cc}/gu, " ").trim())
    .subarray(0, maxNameBytes)
    .toString("utf8")
    .replace(/\uFFFD+$/, "");
}
