/** The host of login callbacks. It only redirects, and has neither cookies nor outgoing calls. */
import { Lru } from "../../lib/collections/lru.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import type { CompiledModule } from "../../traffic/module.ts";
import { answerStep } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import type { Connection } from "../calls/provider-connection.ts";
import { oauthCallback } from "../methods/code-method.ts";
import type { LoginContext } from "../guard/login-context.ts";
import { checkAge, guardOf, readState, startAgain } from "./finish.ts";
import { keySetAnswer, notAllowed } from "./host-paths.ts";
import { readParameters } from "../browser/parameters.ts";
import { LoginRefusal } from "../calls/identity.ts";
import { renderLoggedOutPage } from "./leave.ts";
import { loginHeaders, answerRedirect, refusalAnswer, renderPage } from "../browser/login-pages.ts";
import { wantsPage } from "../browser/request-kind.ts";
import { originOf } from "../browser/login-settings.ts";
import { turnAway } from "../browser/turn-away.ts";

export interface IdpSite {
  /** Answers every request of the host. */
  readonly module: CompiledModule;
  /** Accepts back-channel logouts from an issuer, at its tag and for this client. */
  follows(tag: string, accountId: string, connection: Connection): void;
}

/** An additional path of the host, for another kind of login. */
export type IdpPath = (exchange: Exchange, context: LoginContext) => Step | Promise<Step> | undefined;

const by = "login";
const passedOn = ["code", "state", "iss", "error", "error_description"];
const maxBackchannelBytes = 64 * 1024;
/**
 * Maximum number of issuers whose logouts are accepted, and of clients per issuer. A token is checked for each client
 * in turn.
 */
const maxIssuers = 10_000;
const maxClients = 200;

interface IssuerClient {
  readonly accountId: string;
  readonly connection: Connection;
}

/** @param more tried first, in order; the first one that answers handles the request */
export function makeIdpSite(context: LoginContext, more: readonly IdpPath[]): IdpSite {
  const issuers = new Lru<string, Lru<string, IssuerClient>>(maxIssuers);

  const decide = (exchange: Exchange): Step | Promise<Step> => {
    for (const one of more) {
      const step = one(exchange, context);
      if (step) return step;
    }
    const { path, method } = exchange.request;
    if (path === oauthCallback || path.startsWith(`${oauthCallback}/`)) {
      return method === "GET" ? switchOver(exchange, context) : notAllowed("GET");
    }
    if (path === "/logged-out") return answerStep(by, "the end of a log-out", renderLoggedOutPage(undefined));
    if (path === "/.well-known/jwks.json" || path === "/.postern/jwks.json") return keySetAnswer(context);
    const tag = /^\/oidc\/([0-9a-z]{8})\/backchannel-logout$/.exec(path)?.[1];
    if (tag !== undefined) return method === "POST" ? backchannel(exchange, tag) : notAllowed("POST");
    const page = { title: "This address only handles logins.", lines: ["Open the site that you want to use instead."] };
    return answerStep(by, "no login path", renderPage(404, page));
  };
  /** OpenID Connect Back-Channel Logout §2.5 to 2.8. */
  const backchannel = async (exchange: Exchange, tag: string): Promise<Step> => {
    const { jobs, sessions, used, reports, end, log } = context;
    const type = exchange.request.headers.get("content-type") ?? "";
    const body = await exchange.body(maxBackchannelBytes);
    const tokens = new URLSearchParams(body.toString("latin1")).getAll("logout_token");
    const [token = ""] = tokens;
    const clients = issuers.get(tag);
    if (!clients || tokens.length !== 1 || !/^application\/x-www-form-urlencoded\b/i.test(type)) {
      return answerVisitor(400, "the token is not a logout token of a known issuer");
    }
    let why = "no client of the issuer accepts the token";
    for (const [, { accountId, connection }] of Array.from(clients.entries())) {
      try {
        const { subject, session, id, untilMs } = await jobs.loggedOut(connection, token);
        const name = `logout ${tag} ${id}`;
        const wasHeard = used.get(name) === true;
        used.set(name, true);
        if (wasHeard || (await reports.claimHere(accountId, name, untilMs)) === "used") {
          return answerVisitor(400, "the logout token was already used");
        }
        const maybe =
          subject === ""
            ? sessions.ofProviderSession(accountId, connection.issuer, connection.clientId, session)
            : sessions.ofSubject(subject);
        const ended = maybe.filter(
          ({ record }) =>
            record.accountId === accountId &&
            record.providerUrl === connection.issuer &&
            record.clientId === connection.clientId &&
            (subject === "" || record.identity.subject === subject) &&
            (session === "" || record.identity.providerSession === session),
        );
        for (const one of ended) end(one, "provider_logged_out", exchange);
        return answerVisitor(200, `ended ${ended.length} sessions`);
      } catch (error) {
        if (!(error instanceof LoginRefusal)) throw error;
        why = error.message;
      }
    }
    log.info("logout of a provider rejected", { request: exchange.id, reason: why });
    return answerVisitor(400, why);
  };
  return {
    module: {
      request: decide,
      rehearse: () => answerStep(by, "the login host", { status: 200, headers: loginHeaders, body: "" }),
    },
    follows(tag, accountId, connection) {
      let clients = issuers.get(tag);
      if (!clients) issuers.set(tag, (clients = new Lru(maxClients)));
      // Two accounts may have equal tags without replacing each other.
      clients.set(JSON.stringify([accountId, connection.issuer, connection.clientId]), { accountId, connection });
    },
  };
}

/** Redirects to the host that has the browser's flow cookie. Requires a state of this server. */
async function switchOver(exchange: Exchange, context: LoginContext): Promise<Step> {
  let from: string | undefined;
  try {
    await context.gate.enter();
    const parameters = readParameters(exchange.request.query);
    const state = readState(parameters, context);
    const { host, realm } = state;
    from = host;
    checkAge(state);
    const site = context.siteFor(host);
    const guard = site && guardOf(site, ({ options }) => options.realm.tag === realm);
    if (!guard) throw new LoginRefusal("login_elsewhere", "no route of the host has this login now");
    if (guard.options.method.callbackPath !== exchange.request.path) {
      throw new LoginRefusal("login_elsewhere", "the login returned at another path: another issuer may have sent it");
    }
    const url = new URL("/.postern/callback", originOf(host, context.settings.httpsPort()));
    for (const name of passedOn) {
      const value = parameters.get(name);
      if (value !== undefined) url.searchParams.set(name, value);
    }
    return answerStep(by, `on to ${host}`, answerRedirect(303, url.href));
  } catch (error) {
    if (!(error instanceof LoginRefusal)) throw error;
    const hasLogins = from !== undefined && (context.siteFor(from)?.logins?.length ?? 0) > 0;
    const origin = originOf(from ?? "", context.settings.httpsPort());
    const links = hasLogins ? [startAgain(error.reason, origin)] : [];
    const shown = { requestId: exchange.id, asPage: wantsPage(exchange.request), links };
    return turnAway(by, error.message, refusalAnswer(error.reason, shown));
  }
}

function answerVisitor(status: number, why: string): Step {
  const body = status === 200 ? "" : `${JSON.stringify({ error: "invalid_request" })}\n`;
  return answerStep(by, why, { status, headers: { ...loginHeaders, "content-type": "application/json" }, body });
}
