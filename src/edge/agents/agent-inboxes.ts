/** Agents that have the server store webhooks for their URL. The edge checks their token, the control plane does the rest. */
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { AgentInboxAnswer, AgentInboxOutcome } from "../../routing/planes/inbox-questions.ts";
import type { Upward } from "../../routing/planes/messages.ts";
import type { RoutingTable } from "../../routing/sites/compiled-site.ts";
import type { InboxRequest } from "../../tunnel/server-hooks.ts";
import { admitsAgent } from "./enforcement.ts";
import { requireHost, hostAsked } from "./opening/endpoint-places.ts";
import type { EndpointPlacesOptions } from "./opening/endpoint-places.ts";
import type { Credentials } from "./opening/agent-credentials.ts";
import { generatedName } from "./opening/generated-names.ts";

export interface AgentInboxes {
  /** Rejects with `Refusal`. */
  ask(request: InboxRequest): Promise<AgentInboxAnswer>;
  /** Receives the control plane's answer to `call`. */
  answered(call: number, outcome: AgentInboxOutcome): void;
}

/** Maximum time for the answer, milliseconds. Shorter than an agent's time to authenticate. */
const answerMs = 8_000;
/** Maximum number of questions that wait for the control plane, over all addresses. */
const maxWaiting = 64;

interface AgentInboxOptions extends Pick<EndpointPlacesOptions, "domain" | "idpHost" | "advertisedHttpsPort"> {
  readonly table: RoutingTable;
  readonly credentials: Pick<Credentials, "authenticate">;
  readonly report: (message: Upward) => void;
  readonly clock: Clock;
}

export function makeAgentInboxes(options: AgentInboxOptions): AgentInboxes {
  const { table, credentials, report, clock } = options;
  const waiting = new Map<number, (outcome: AgentInboxOutcome) => void>();
  let lastCall = 0;
  return {
    async ask({ token, hostname, port: asked, name, verb, webhooks, ip }) {
      const grant = credentials.authenticate({ token });
      const { accountId, credentialId } = grant;
      if (!admitsAgent(table, accountId, ip)) throw new Refusal("agent_source_denied");
      const named = hostname === "" ? undefined : hostAsked(hostname, options);
      const parts = [grant.tokenHash.toString("hex"), name, "inbox"];
      const host = named ?? `${generatedName(parts)}.${options.domain}`;
      const port = options.advertisedHttpsPort();
      if (asked !== undefined && asked !== port) {
        throw new Refusal("agent_option_unsupported", `publish "${host}:${asked}": names are served at port ${port}`);
      }
      requireHost(grant, host, port);
      if (waiting.size >= maxWaiting) throw new Refusal("agent_inbox_unavailable");
      const call = (lastCall += 1);
      const { promise, resolve } = Promise.withResolvers<AgentInboxOutcome | undefined>();
      const timer = clock.after(answerMs, () => resolve(undefined));
      waiting.set(call, resolve);
      const question = { accountId, credentialId, source: ip, verb, host, port, webhooks };
      report({ type: "agent_inbox", call, question });
      const outcome = await promise;
      timer.cancel();
      waiting.delete(call);
      if (outcome === undefined) throw new Refusal("agent_inbox_unavailable");
      if ("refused" in outcome) throw new Refusal(outcome.refused, outcome.message);
      return { url: `https://${host}${port === 443 ? "" : `:${port}`}`, host, waiting: outcome.waiting };
    },
    answered: (call, outcome) => waiting.get(call)?.(outcome),
  };
}
