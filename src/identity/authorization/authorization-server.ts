/**
 * The authorization server of each account, on the login host (OAuth 2.1, RFC 8414). The edge parses requests and
 * renders answers. The control plane decides, and stores grants.
 */
import type { Exchange } from "../../traffic/exchange.ts";
import type { Step } from "../../traffic/step.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { LoginContext } from "../guard/login-context.ts";
import { issuerOf } from "../machines/issuer.ts";
import type { AuthorizationAnswer } from "../machines/authorization-questions.ts";
import { readParameters } from "../browser/parameters.ts";
import { keySetAnswer, notAllowed } from "../visits/host-paths.ts";
import { answerJson, jsonError, answerNoContent, answerRefusalPage } from "./authorization-answers.ts";
import { authorizeClient } from "./authorize.ts";
import { receiveConsent } from "./consent.ts";
import { programAnswer, serverMetadata, tokenQuestionIn } from "./protocol.ts";

const maxBodyBytes = 16 * 1024;
const account = "(ac_[0-9a-z]{1,40})";
const endpoint = new RegExp(`^/oauth/${account}/(authorize|consent|token|register|revoke|jwks)$`);
const metadataPaths = [
  new RegExp(`^/\\.well-known/(?:oauth-authorization-server|openid-configuration)/oauth/${account}$`),
  new RegExp(`^/oauth/${account}/\\.well-known/(?:oauth-authorization-server|openid-configuration)$`),
];

interface Endpoint {
  readonly methods: readonly string[];
  /** Whether programs call it, which get JSON; otherwise the person's browser. */
  readonly isForPrograms: boolean;
  answer(accountId: string, exchange: Exchange, context: LoginContext): Promise<Step> | Step;
}

const endpoints: Readonly<Record<string, Endpoint>> = {
  authorize: { methods: ["GET"], isForPrograms: false, answer: authorizeClient },
  consent: { methods: ["GET", "POST"], isForPrograms: false, answer: receiveConsent },
  token: { methods: ["POST"], isForPrograms: true, answer: serveToken },
  register: { methods: ["POST"], isForPrograms: true, answer: registerClient },
  revoke: { methods: ["POST"], isForPrograms: true, answer: revokeToken },
  jwks: {
    methods: ["GET", "HEAD"],
    isForPrograms: true,
    answer: (_accountId, _exchange, context) => keySetAnswer(context),
  },
};

/** A path of the login host; undefined for the paths of others. */
export function authorizationPath(exchange: Exchange, context: LoginContext): Step | Promise<Step> | undefined {
  const { path, method } = exchange.request;
  for (const form of metadataPaths) {
    const accountId = form.exec(path)?.[1];
    if (accountId === undefined) continue;
    if (method === "OPTIONS") return answerNoContent("metadata for any origin");
    return method === "GET" || method === "HEAD" ? serveMetadata(accountId, context) : notAllowed("GET, HEAD");
  }
  const [, accountId = "", name = ""] = endpoint.exec(path) ?? [];
  const found = endpoints[name];
  if (found === undefined) return undefined;
  exchange.ownerAccount = accountId;
  if (found.isForPrograms && method === "OPTIONS") return answerNoContent("for any origin");
  if (!found.methods.includes(method)) return notAllowed(found.methods.join(", "));
  return answerOf(found, accountId, exchange, context);
}

async function answerOf(
  { answer, isForPrograms }: Endpoint,
  accountId: string,
  exchange: Exchange,
  context: LoginContext,
): Promise<Step> {
  try {
    await context.gate.enter();
    return await answer(accountId, exchange, context);
  } catch (error) {
    if (!(error instanceof LoginRefusal)) throw error;
    const { reason, message } = error;
    if (!isForPrograms) return answerRefusalPage(exchange, reason, message);
    return reason === "login_busy"
      ? jsonError(503, "temporarily_unavailable", message)
      : jsonError(400, "invalid_request", message);
  }
}

function serveMetadata(accountId: string, { settings }: LoginContext): Step {
  const issuer = issuerOf(settings, accountId);
  const value = {
    ...serverMetadata(issuer),
    jwks_uri: `${issuer}/jwks`,
    // OpenID discovery requires these two. The server issues no ID tokens.
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256"],
  };
  return answerJson(200, value, "metadata of the authorization server", "public, max-age=300");
}

async function formOf(exchange: Exchange): Promise<ReadonlyMap<string, string> | undefined> {
  if (!/^application\/x-www-form-urlencoded\b/i.test(exchange.request.headers.get("content-type") ?? "")) {
    return undefined;
  }
  return readParameters((await exchange.body(maxBodyBytes)).toString("latin1"));
}

const answerNoForm = (): Step => jsonError(400, "invalid_request", "send a form (application/x-www-form-urlencoded)");

async function serveToken(accountId: string, exchange: Exchange, context: LoginContext): Promise<Step> {
  const form = await formOf(exchange);
  if (!form) return answerNoForm();
  const question = tokenQuestionIn(form);
  if (!("name" in question)) return jsonError(400, question.error, question.description);
  return answerTo(await context.reports.authorization(accountId, question), "tokens for a client");
}

async function revokeToken(accountId: string, exchange: Exchange, context: LoginContext): Promise<Step> {
  const form = await formOf(exchange);
  if (!form) return answerNoForm();
  const [given = "", clientId = ""] = [form.get("token"), form.get("client_id")];
  const answer = await context.reports.authorization(accountId, { name: "revoke", token: given, clientId });
  return answerTo(answer, "the token is not valid any more");
}

/** The registration is in the client id itself, so a flood of them stores nothing. */
async function registerClient(accountId: string, exchange: Exchange, context: LoginContext): Promise<Step> {
  const given = (await exchange.body(maxBodyBytes)).toString("latin1");
  const answer = await context.reports.authorization(accountId, { name: "register", metadata: given });
  return answerTo(answer, "a client registered");
}

function answerTo(answer: AuthorizationAnswer | undefined, why: string): Step {
  const { status, body } = programAnswer(answer);
  return answerJson(status, body, answer?.name === "refused" ? `${answer.error}: ${answer.description}` : why);
}
