/** The API as this page calls it: through the SDK, with a session instead of a key. */
import { signal } from "@preact/signals";
import { Postern, PosternConnectionError, PosternError, operations } from "../../../sdk/src/index.ts";
import { toCamelCase } from "../../../sdk/src/client.ts";
import type { FetchAnswer, FetchInit } from "../../../sdk/src/index.ts";

export interface Session {
  readonly id: string;
  readonly account_id: string;
  /** Person who logged in through the team's identity provider; null with a key. */
  readonly person: { readonly email: string; readonly name: string; readonly role: string } | null;
  /** Accounts that the person may use. */
  readonly accounts: readonly { readonly id: string; readonly name: string }[];
  readonly api_key: {
    readonly id: string;
    readonly description: string;
    readonly operator: boolean;
    readonly scopes: readonly string[];
  };
  readonly expires_at: string;
  readonly page_token: string;
}

/** Undefined: not known yet; null: not logged in. */
export const session = signal<Session | null | undefined>(undefined);
/** Why the page is not logged in, as a sentence. */
export const whyOut = signal("");
/** The team's identity provider, if logins through it are possible. */
export const provider = signal<{ readonly title: string; readonly url: string } | undefined>(undefined);
/** The origin at which people log in with passkeys, if any person has one. */
export const passkeyOrigin = signal<string | undefined>(undefined);
/** Code of the invitation link with which the page was opened. */
export const invitation = signal<string | undefined>(undefined);
/** Request of an application that wants access. It survives a login at the identity provider. */
export const connection = signal<string | undefined>(undefined);
/** Revision whose state is shown; undefined: the current state. */
export const atRevision = signal<number | undefined>(undefined);

/** Returns the options to read an object that has a history. */
export function asOf(): { readonly at_revision?: number } {
  return atRevision.value === undefined ? {} : { at_revision: atRevision.value };
}

/** A field of an object in an API response. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = Readonly<Record<string, Json>>;
export type ApiObject = JsonObject & { readonly id: string };

async function sendRequest(url: string, init: FetchInit): Promise<FetchAnswer> {
  const answer = await fetch(url, {
    ...init,
    headers: { ...init.headers, "postern-console-token": session.value?.page_token ?? "" },
  });
  noteEnd(answer);
  return answer;
}

function noteEnd({ status }: FetchAnswer): void {
  if (status !== 401 || !session.value) return;
  whyOut.value = "Your session has expired.";
  session.value = null;
}

/** Shows the login if the session has ended. Does nothing while the server does not answer. */
export async function checkSession(): Promise<void> {
  const answer = await askServer("GET").catch(() => undefined);
  if (answer) noteEnd(answer);
}

export const postern = new Postern({ baseUrl: location.origin, fetch: sendRequest });

type Method = (...args: readonly unknown[]) => unknown;

/** Returns the SDK's method for an operation of the API's description. */
export function methodOf(operationId: string): Method {
  const found = operations.find(({ id }) => id === operationId);
  if (!found) throw new Error(`there is no operation ${operationId}`);
  let group = postern as unknown as Record<string, unknown>;
  for (const word of found.group) group = group[toCamelCase(word)] as Record<string, unknown>;
  return group[toCamelCase(found.verb)] as Method;
}

/** Calls an operation that returns one object. */
export async function callOperation(operationId: string, ...args: readonly unknown[]): Promise<ApiObject> {
  return (await methodOf(operationId)(...args)) as ApiObject;
}

/** Whether the operation reads objects with a history. */
function hasPast(operationId: string): boolean {
  return operations.find(({ id }) => id === operationId)?.query?.includes("at_revision") ?? false;
}

/** Whether the operation's objects are shown in a past state. */
export function isPast(operationId = ""): boolean {
  return atRevision.value !== undefined && hasPast(operationId);
}

/** Returns the options of a read, with the revision if possible. */
export function readOptions(operationId: string): { readonly at_revision?: number } {
  return hasPast(operationId) ? asOf() : {};
}

/** Whether an error means that the object does not exist. */
export function isGone(error: unknown): boolean {
  return error instanceof PosternError && error.status === 404;
}

/** Logs in with the cookie, or once with the code of a link. An invitation stays in the address until it is accepted. */
export async function beginSession(): Promise<void> {
  const code = /^#code=([0-9a-z]+)$/.exec(location.hash)?.[1];
  invitation.value = /^#invite=([0-9a-z]+)$/.exec(location.hash)?.[1];
  const asked = /^#authorize=([\w-]+)$/.exec(location.hash)?.[1];
  if (asked !== undefined) sessionStorage.setItem(connectionName, asked);
  connection.value = sessionStorage.getItem(connectionName) ?? undefined;
  const refused = /^#refused=(\w+)$/.exec(location.hash)?.[1];
  if (refused !== undefined) whyOut.value = refusals[refused] ?? "The login failed. Start again.";
  // Remove the code from the browser's history first.
  if (code !== undefined || refused !== undefined || asked !== undefined) history.replaceState(undefined, "", "#/");
  session.value = code === undefined ? await findSession() : await logIn({ code });
}

const connectionName = "connection";

/** Shows the console instead of the application's request. */
export function forgetConnection(): void {
  sessionStorage.removeItem(connectionName);
  connection.value = undefined;
}

const refusals: Readonly<Record<string, string>> = {
  console_person_refused:
    "The identity provider knows you, but you have no access to this console. Ask the server's operator for access.",
  person_invitation_spent: "The invitation link was already used, was withdrawn or has expired. Ask for a new link.",
  console_login_failed: "The login through the identity provider failed. Start again.",
};

/** Switches to another account of the same person. Rejects with the server's error. */
export async function moveToAccount(accountId: string): Promise<void> {
  const answer = await askServer("POST", { account_id: accountId });
  if (!answer.ok) throw new Error(((await answer.json()) as { readonly msg: string }).msg);
  session.value = (await answer.json()) as Session;
}

export async function logIn(by: { readonly code: string } | { readonly api_key: string }): Promise<Session | null> {
  const answer = await askServer("POST", by);
  if (!answer.ok) {
    const before = await findSession();
    if (before) return before;
    whyOut.value = ((await answer.json()) as { readonly msg: string }).msg;
    return null;
  }
  whyOut.value = "";
  return (await answer.json()) as Session;
}

/** Sends a request that opens a session, such as a login with a passkey. Rejects with a sentence. */
export async function enterWith(path: string, body: object): Promise<void> {
  session.value = (await sendToConsole(path, body)) as unknown as Session;
  whyOut.value = "";
}

/** Sends a request of the login pages. Rejects with a sentence. */
export async function sendToConsole(path: string, body: object): Promise<JsonObject> {
  const answer = await fetch(`/console/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "postern-console-token": session.value?.page_token ?? "" },
    body: JSON.stringify(body),
  }).catch(() => undefined);
  if (!answer) throw new Error("The server does not answer. Try again.");
  if (!answer.ok) throw new Error(toSentence(((await answer.json()) as { readonly msg: string }).msg));
  return (await answer.json()) as JsonObject;
}

export async function logOut(): Promise<void> {
  await askServer("DELETE");
  whyOut.value = "You are logged out.";
  session.value = null;
}

/** Returns the cookie's session, or null and the ways to log in. */
export async function findSession(): Promise<Session | null> {
  const answer = await askServer("GET");
  if (answer.ok) return (await answer.json()) as Session;
  const { details } = (await answer.json()) as { readonly details?: Readonly<Record<string, string>> };
  const { login_title: title, login_url: url } = details ?? {};
  passkeyOrigin.value = details?.["passkey_origin"];
  provider.value = title === undefined || url === undefined ? undefined : { title, url };
  return null;
}

function askServer(method: string, body?: object): Promise<Response> {
  return fetch("/console/session", {
    method,
    headers: {
      "postern-console-token": session.value?.page_token ?? "",
      ...(body && { "content-type": "application/json" }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
}

/** Returns the error as sentences: the message, then each invalid field. */
export function explainError(error: unknown): {
  readonly message: string;
  readonly fields: Readonly<Record<string, string>>;
} {
  if (error instanceof PosternConnectionError) {
    return {
      message: "The server does not answer. The page reconnects automatically, and keeps what you entered.",
      fields: {},
    };
  }
  if (!(error instanceof PosternError)) return { message: (error as Error).message, fields: {} };
  const fields = Object.fromEntries(
    Object.entries(error.details).flatMap(([name, text]) =>
      name === "operation_id" ? [] : [[name, toSentence(text)]],
    ),
  );
  // The server names the operation first, which people at a form have not called.
  return { message: toSentence(error.message.replace(/^[a-z]+[A-Z]\w*: /, "")), fields };
}

/** Begins with a capital letter, unless it begins with a name in quotes, and ends with a full stop. */
function toSentence(text: string): string {
  const trimmed = text.trim();
  return `${trimmed.charAt(0).toUpperCase()}${trimmed.slice(1)}${/[.!?]$/.test(trimmed) ? "" : "."}`;
}
