/** SAML 2.0 logins: Web Browser SSO, started here or at the provider (saml-profiles §4.1). */
import { randomBytes } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import type { Answer } from "../../traffic/step.ts";
import { LoginRefusal, unknownIdentity } from "../calls/identity.ts";
import type { Tokens } from "../calls/provider-connection.ts";
import type { LoggedIn } from "../calls/login-client.ts";
import type { LoginContext, SamlSigning } from "../guard/login-context.ts";
import { sameId } from "../browser/flow.ts";
import type { Flow } from "../browser/flow.ts";
import type { Arrival, LoginMethod } from "../methods/method.ts";
import { sanitizePath } from "../browser/return-path.ts";
import type { LogoutOutcome } from "../saml/logout/verify-logout.ts";
import type { Document } from "../saml/metadata/write-metadata.ts";
import type { SamlRefusal } from "../saml/saml-refusal.ts";
import type { NameId } from "../saml/response/name-id.ts";
import type { ClaimMessage, LoginOrigin, ResponseHost } from "../saml/response/work.ts";
import type { Delivery } from "../saml/transport/incoming.ts";
import type { Outgoing } from "../saml/transport/outgoing-message.ts";
import { callWorker } from "./saml-worker.ts";
import type { SamlWorker } from "./saml-worker.ts";
import { hostCodeOf } from "./host-code.ts";
import type { IdpSource } from "./idp-source.ts";
import type { SamlAddresses } from "./own-name.ts";
import { postPage } from "./post-page.ts";
import { openTicket, sealTicket, ticketGoodMs } from "./ticket.ts";
import type { Ticket } from "./ticket.ts";

/** The configured part of a route. */
export interface SamlRoute extends SamlAddresses {
  readonly nameIdFormat: string;
  readonly forceAuthn: boolean;
  readonly allowIdpInitiated: boolean;
  readonly authorizedGroups: readonly string[];
}

export interface SamlMethodNeeds {
  readonly source: IdpSource;
  /** Undefined if there is none. */
  readonly signing: () => SamlSigning | undefined;
  readonly worker: SamlWorker;
  readonly context: LoginContext;
  /** Whether the metadata have an address, so that newer metadata may exist. */
  readonly isRenewable: boolean;
}

/** An unknown key signed the message. */
export class UnknownKeyRefusal extends LoginRefusal {}

/** An accepted response of the provider. */
export interface Accepted {
  readonly origin: LoginOrigin;
  readonly subject: string;
  /**
   * @param id id of the flow, or a new one
   * @param url destination of a login that started at the provider
   */
  ticket(id: string, url: string): string;
}

const relayUse = "saml relay";
const unknownProvider = "the identity provider";

export class SamlMethod implements LoginMethod {
  readonly kind = "saml";
  readonly repeatableMs = ticketGoodMs;
  readonly scopes: readonly string[] = [];
  readonly forwardsTokens = false;
  readonly route: SamlRoute;
  readonly #needs: SamlMethodNeeds;
  #document: Promise<Document> | undefined;

  constructor(route: SamlRoute, needs: SamlMethodNeeds) {
    this.route = route;
    this.#needs = needs;
  }

  get clientId(): string {
    return this.route.entityId;
  }

  get realmId(): string {
    return this.clientId;
  }

  get metadataUrl(): string {
    return this.route.entityId;
  }

  get callbackPath(): string {
    return `/saml/${this.route.routeId}/acs`;
  }

  get title(): string {
    const { url } = this;
    return url === "" ? unknownProvider : (URL.parse(url)?.host || url).slice(0, 100);
  }

  get url(): string {
    return this.#needs.source.known?.entityId ?? "";
  }

  async known(): Promise<void> {
    await this.#needs.source.get();
  }

  get warning(): string | undefined {
    const { warning, known } = this.#needs.source;
    const all = [warning, ...(known?.warnings ?? []).map((one) => `in its metadata ${one}`)];
    return all.filter((one) => one !== undefined).join("; ") || undefined;
  }

  async begin(flow: Flow, _state: string, prompt: string | undefined, host: string): Promise<string | Answer> {
    const { source, worker, context } = this.#needs;
    const code = hostCodeOf(host, context.siteFor(host)?.hosts ?? []);
    if (code === undefined) throw new LoginRefusal("login_elsewhere", `the edge no longer has the host "${host}"`);
    const outgoing = await callWorker(worker, "saml.makeAuthnRequest", {
      ...this.#signingRoute,
      idp: await source.get(),
      // SAML's way to choose another account: authenticate again.
      forceAuthn: this.route.forceAuthn || flow.anew || prompt !== undefined,
      flowId: flow.id,
      host: code,
      relayKey: this.#relayKeys[0] as string,
      nowMs: flow.startedAt,
    });
    return this.#sent(outgoing);
  }

  /** Receives the ticket that represents the provider's response. */
  async finish(parameters: ReadonlyMap<string, string>, flow: Flow): Promise<LoggedIn> {
    const ticket = this.#ticketIn(parameters);
    if (!ticket)
      throw new LoginRefusal("login_state_unreadable", "the ticket of this route is missing, or older than a minute");
    if (ticket.url !== "" || !sameId(ticket.id, flow.id))
      throw new LoginRefusal("login_elsewhere", "the ticket belongs to another login");
    if (flow.anew && ticket.signedInAt + this.#skewMs < flow.startedAt) {
      throw new LoginRefusal("saml_assertion", "the provider did not authenticate the visitor again (AuthnInstant)");
    }
    return await this.#loggedIn(ticket);
  }

  async arrive(parameters: ReadonlyMap<string, string>, host: string): Promise<Arrival | undefined> {
    const ticket = this.#ticketIn(parameters);
    const url = ticket && URL.parse(ticket.url);
    if (!ticket || url?.hostname !== host) return undefined;
    return { ...(await this.#loggedIn(ticket)), id: ticket.id, returnPath: sanitizePath(url.pathname + url.search) };
  }

  /** The route's metadata for providers. Throws `LoginRefusal` while there is no key. */
  document(): Promise<Document> {
    const { entityId, acsUrl, sloUrl, nameIdFormat, signingCertificatePem } = this.#signingRoute;
    this.#document ??= callWorker(this.#needs.worker, "saml.writeSpMetadata", {
      entityId,
      acsUrl,
      sloUrl,
      nameIdFormat,
      signingCertificates: [signingCertificatePem],
    }).catch((error: unknown) => {
      this.#document = undefined;
      throw error;
    });
    return this.#document;
  }

  /** Fetches newer metadata. Resolves with whether there are any, so that the route has another method now. */
  async renewMetadata(accountId: string): Promise<boolean> {
    const { isRenewable, context } = this.#needs;
    return isRenewable && (await context.reports.renewMetadata(accountId, this.route.routeId));
  }

  /** Verifies a response of the provider. Rejects with `LoginRefusal`. @param home see `ResponseInput` */
  async accept(form: string, home: string | undefined, host: ResponseHost): Promise<Accepted> {
    const { source, worker, context } = this.#needs;
    const { routeId, authorizedGroups } = this.route;
    const input = {
      ...this.route,
      form,
      idp: await source.get(),
      ...(home !== undefined && { home }),
      relayKeys: this.#relayKeys,
      nowMs: this.#clock.now(),
      skewMs: this.#skewMs,
    };
    const outcome = await callWorker(worker, "saml.verifyResponse", input, host);
    if ("refused" in outcome) {
      const { refused, check } = outcome;
      throw refusalOf({ ...refused, reason: `${check}: ${refused.reason}` });
    }
    const { identity, origin } = outcome;
    const sealing = { sealer: context.sealer, nowMs: this.#clock.now() };
    return {
      origin,
      subject: identity.nameId,
      ticket: (id, url) => sealTicket({ id, url }, { identity, authorized: authorizedGroups, routeId }, sealing),
    };
  }

  /** Returns a signed LogoutRequest if the provider accepts them. It answers at `sloUrl`. */
  async logout({ id }: Tokens, _returnUrl: string, host: string): Promise<string | Answer | undefined> {
    if (id === "") return undefined;
    const { source, worker, context } = this.#needs;
    const [name, sessionIndex] = JSON.parse(id) as [NameId, string];
    const outgoing = await callWorker(worker, "saml.makeLogoutRequest", {
      ...this.#signingRoute,
      idp: await source.get(),
      name,
      sessionIndex,
      flowId: randomBytes(16).toString("base64url"),
      host: hostCodeOf(host, context.siteFor(host)?.hosts ?? []) ?? "none",
      relayKey: this.#relayKeys[0] as string,
      nowMs: this.#clock.now(),
    });
    return outgoing && this.#sent(outgoing);
  }

  /** Verifies a message to the single logout service. Rejects with `LoginRefusal`. */
  async heard(delivery: Delivery, claim: ClaimMessage): Promise<Exclude<LogoutOutcome, { refused: unknown }>> {
    const { source, worker } = this.#needs;
    const input = {
      ...this.route,
      delivery,
      idp: await source.get(),
      relayKeys: this.#relayKeys,
      nowMs: this.#clock.now(),
      skewMs: this.#skewMs,
    };
    const outcome = await callWorker(worker, "saml.verifyLogout", input, { claim });
    if (!("refused" in outcome)) return outcome;
    throw refusalOf(outcome.refused);
  }

  /** Returns the signed answer to a LogoutRequest; undefined if the provider accepts none. */
  async logoutAnswer(inResponseTo: string, relayState: string | undefined): Promise<string | Answer | undefined> {
    const { source, worker } = this.#needs;
    const outgoing = await callWorker(worker, "saml.makeLogoutResponse", {
      ...this.#signingRoute,
      idp: await source.get(),
      inResponseTo,
      ...(relayState !== undefined && { relayState }),
      nowMs: this.#clock.now(),
    });
    return outgoing && this.#sent(outgoing);
  }

  #sent(outgoing: Outgoing): string | Answer {
    return outgoing.binding === "redirect" ? outgoing.url : postPage(outgoing, this.title);
  }

  get #signingRoute(): SamlRoute & SamlSigning {
    const signing = this.#needs.signing();
    if (!signing) throw new LoginRefusal("login_busy", "the control plane has sent no key that signs requests yet");
    return { ...this.route, ...signing };
  }

  get #relayKeys(): readonly string[] {
    return this.#needs.context.sealer.derived(relayUse);
  }

  get #clock(): Clock {
    return this.#needs.context.clock;
  }

  get #skewMs(): number {
    return this.#needs.context.settings.skewSeconds * 1000;
  }

  #ticketIn(parameters: ReadonlyMap<string, string>): Ticket | undefined {
    const { sealer } = this.#needs.context;
    return openTicket(parameters.get("ticket") ?? "", this.route.routeId, sealer, this.#clock.now());
  }

  async #loggedIn({ name, email, displayName, groups, sessionIndex, signedInAt, endsAt }: Ticket): Promise<LoggedIn> {
    // Another edge may have verified the response, so this one also needs the metadata to attribute the sessions.
    const { redirect, post } = (await this.#needs.source.get()).signOut;
    const takesLogouts = redirect !== undefined || post !== undefined;
    return {
      identity: {
        ...unknownIdentity,
        subject: name.nameId,
        email,
        emailVerified: email !== "",
        name: displayName,
        memberships: groups,
        providerSession: sessionIndex,
        authenticatedAt: Math.floor(signedInAt / 1000),
      },
      // The data that a logout at the provider must contain (saml-core §3.7.1).
      tokens: { access: "", refresh: "", id: takesLogouts ? JSON.stringify([name, sessionIndex]) : "" },
      scopes: [],
      endsAt: endsAt > 0 ? endsAt + this.#skewMs : 0,
    };
  }
}

function refusalOf({ error, reason, keyUnknown }: SamlRefusal): LoginRefusal {
  const errorName = error as LoginRefusal["reason"];
  return keyUnknown ? new UnknownKeyRefusal(errorName, reason) : new LoginRefusal(errorName, reason);
}
