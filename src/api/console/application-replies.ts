/** Replies to applications that connect to `/mcp`, and to the page on which a person confirms one. */
import { catalogue, Refusal } from "../../lib/errors.ts";
import { LoginRefusal } from "../../identity/calls/identity.ts";
import { readParameters } from "../../identity/browser/parameters.ts";
import { renderPage } from "../../identity/browser/login-pages.ts";
import {
  destinationOf,
  errorBody as oauthError,
  programAnswer,
  serverMetadata,
  tokenQuestionIn,
} from "../../identity/authorization/protocol.ts";
import type { Parameters as Given } from "../../identity/authorization/protocol.ts";
import type { AuthorizationError, AuthorizationQuestion } from "../../identity/machines/authorization-questions.ts";
import { readBody, readForm } from "../http/body.ts";
import { errorBody } from "../http/error-body.ts";
import type { ApiExchange } from "../http/api-exchange.ts";
import type { FrontReply } from "../http/front.ts";
import { headersOf, methodRefusal } from "../http/request-checks.ts";
import type { Operation, Reply } from "../operation/call.ts";
import type { Store } from "../../storage/store.ts";
import { applicationScopes } from "./access-requests.ts";
import type { Applications } from "./applications.ts";
import { checkToken } from "./session-replies.ts";
import type { SessionReplies } from "./session-replies.ts";

type AdmitKey = Parameters<FrontReply["run"]>[0];

interface ApplicationRepliesOptions {
  readonly store: Pick<Store, "accounts">;
  readonly applications: Applications;
  readonly replies: Pick<SessionReplies, "sessionOf">;
}

/** Returns undefined for other paths. */
export type ApplicationReplies = (exchange: ApiExchange, path: string, baseUrl: string) => FrontReply | undefined;

export const consentPath = "/console/application";
const metadataPaths: ReadonlySet<string> = new Set([
  "/.well-known/oauth-authorization-server",
  "/.well-known/openid-configuration",
]);
const reading: Pick<Operation, "id" | "takes"> = { id: "connectApplication", takes: "object" };

export function makeApplicationReplies({
  store,
  applications,
  replies,
}: ApplicationRepliesOptions): ApplicationReplies {
  /** Shows a request to the person who is logged in, or decides about it. */
  const consent = async (
    { request, response, expectsContinue, operationId }: ApiExchange,
    baseUrl: string,
    admit: AdmitKey,
  ): Promise<Reply> => {
    const [session, cookie] = replies.sessionOf(request, baseUrl);
    admit(session.key);
    checkToken(request, cookie);
    const body = await readBody(reading, request, response, expectsContinue);
    const asked = applications.requests.open(body["request"]);
    const possible = applications.possible(asked, session);
    switch (body["decision"]) {
      case "allow": {
        const given = Array.isArray(body["scopes"]) ? (body["scopes"] as readonly unknown[]) : [];
        const scopes = applicationScopes.filter((one) => given.includes(one) && possible.includes(one));
        if (scopes.length === 0) return replyJson({ location: applications.decline(asked) });
        const decided = { session, scopes, baseUrl, request, operationId };
        const { location, cookie: flow } = await applications.allow(asked, decided);
        return { ...replyJson({ location }), ...(flow !== undefined && { headers: ["set-cookie", flow] }) };
      }
      case "deny":
        return replyJson({ location: applications.decline(asked) });
    }
    const { accountId } = session.key.principal;
    return replyJson({
      client: asked.clientTitle,
      destination: destinationOf(asked.redirectUri),
      resource: asked.resource,
      scopes: asked.scopes,
      possible_scopes: possible,
      account: store.accounts().find(({ id }) => id === accountId)?.name ?? "",
    });
  };
  const authorize = async ({ request, operationId }: ApiExchange, baseUrl: string): Promise<Reply> => {
    const found = await begin(new URL(request.url ?? "", baseUrl).search, baseUrl);
    if ("location" in found) return { status: 303, headers: ["location", found.location, ...unstored] };
    return replyRefusalPage(found.refused, operationId);
  };
  const begin = async (query: string, baseUrl: string): ReturnType<Applications["requests"]["begin"]> => {
    const parameters = parametersIn(query);
    return "error" in parameters
      ? { refused: parameters.description }
      : await applications.requests.begin(parameters, baseUrl);
  };
  const answer = async (question: AuthorizationQuestion | AuthorizationError): Promise<Reply> => {
    if (!("name" in question)) return replyToProgram({ status: 400, body: oauthError(question) });
    const found = await applications.answer(question);
    // Wrong codes and tokens count as wrong credentials (D9).
    if (found.name === "refused" && found.error === "invalid_grant") {
      throw new Refusal("access_token_ended", found.description);
    }
    return replyToProgram(programAnswer(found));
  };
  const formOf = async ({ request, response, expectsContinue }: ApiExchange): Promise<Given | AuthorizationError> =>
    parametersIn((await readForm(request, response, expectsContinue)).toString());
  const programs: Readonly<Record<string, (exchange: ApiExchange) => Promise<Reply>>> = {
    "/oauth/token": async (exchange) => {
      const form = await formOf(exchange);
      return await answer("error" in form ? form : tokenQuestionIn(form as Given));
    },
    "/oauth/revoke": async (exchange) => {
      const form = await formOf(exchange);
      if ("error" in form) return await answer(form);
      const [token = "", clientId = ""] = [form.get("token"), form.get("client_id")];
      return await answer({ name: "revoke", token, clientId });
    },
    "/oauth/register": async ({ request, response, expectsContinue }) => {
      const body = await readBody(reading, request, response, expectsContinue);
      // As the edges send it: its bytes, one per character.
      return await answer({ name: "register", metadata: Buffer.from(JSON.stringify(body)).toString("latin1") });
    },
  };
  return (exchange, path, baseUrl) => {
    const { method } = exchange.request;
    if (metadataPaths.has(path)) {
      return method === "GET" ? { run: async () => replyJson(serverMetadata(baseUrl, `${baseUrl}/oauth`)) } : undefined;
    }
    if (path === consentPath && method === "POST") {
      return { byKey: true, run: (admit) => consent(exchange, baseUrl, admit) };
    }
    if (path === "/oauth/authorize" && method === "GET") {
      return { run: () => authorize(exchange, baseUrl) };
    }
    const called = programs[path];
    if (!called) return undefined;
    if (method !== "POST") throw methodRefusal(exchange.request, "POST");
    return { byKey: true, run: () => called(exchange), refused: (refusal) => replyRefusal(refusal, exchange) };
  };
}

const unstored = ["cache-control", "no-store", "referrer-policy", "no-referrer"];

function replyJson(body: Readonly<Record<string, unknown>>): Reply {
  return { status: 200, body: JSON.stringify(body) };
}

function replyToProgram({ status, body }: { readonly status: number; readonly body: object }): Reply {
  return { status, body: JSON.stringify(body), headers: ["cache-control", "no-store"] };
}

/** RFC 6749 §5.2. */
function replyRefusal(refusal: Refusal, { operationId }: ApiExchange): Reply {
  if (refusal.reason === "access_token_ended") {
    return replyToProgram({ status: 400, body: oauthError({ error: "invalid_grant", description: refusal.message }) });
  }
  const headers = headersOf(refusal);
  return { ...errorBody(refusal, operationId), ...(headers && { headers }) };
}

function parametersIn(text: string): Given | AuthorizationError {
  try {
    return readParameters(text);
  } catch (error) {
    if (!(error instanceof LoginRefusal)) throw error;
    return { error: "invalid_request", description: error.message };
  }
}

/** An error that must not reach the client's redirect URI, because the URI was not verified. */
function replyRefusalPage(why: string, operationId: string): Reply {
  const { what, fix } = catalogue.client_refused;
  const page = renderPage(400, {
    title: what,
    lines: [`The request is refused: ${why}.`, fix, `Request ${operationId}`],
  });
  const { "content-type": contentType, ...more } = page.headers as Readonly<Record<string, string>>;
  return {
    status: 400,
    body: String(page.body),
    ...(contentType !== undefined && { contentType }),
    headers: Object.entries(more).flat(),
  };
}
