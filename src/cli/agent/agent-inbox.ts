/** The inbox of an agent's URL: the server stores webhooks while the agent is offline. */
import { hostname } from "node:os";
import { describeLoss, endOf } from "../../agent/end.ts";
import { askInbox } from "../../agent/ask-inbox.ts";
import type { TunnelOptions } from "../../agent/tunnel-options.ts";
import { agentInboxLabel } from "../../lib/agent-inbox-label.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { AgentInboxAnswer, AgentInboxVerb, AgentInboxWebhook } from "../../routing/planes/inbox-questions.ts";
import { providerNamed } from "../../webhooks/webhook-providers.ts";
import { agentFailure } from "./agent-failure.ts";
import { Failure } from "../process/exit.ts";

/** Parses `PATH=PROVIDER:SECRET`. The message of an error does not repeat the secret. */
export function parseInboxWebhook(text: string): AgentInboxWebhook {
  const [, path = "", name = "", secret = ""] = /^(\/[^=]*)=([a-z0-9_]+)(?::(.*))?$/is.exec(text) ?? [];
  const provider = providerNamed(name);
  if (path === "" || provider === undefined) {
    throw new Error("must be PATH=PROVIDER:SECRET with a known webhook provider, such as /github=github:SECRET");
  }
  return { path, provider, secret };
}

export interface AgentInbox {
  /** The agent's tunnel behind the URL. */
  readonly tunnel: TunnelOptions;
  readonly url: string;
  /** Number of webhooks that waited when the inbox was opened. */
  readonly waitingFirst: number;
  /** Returns the number of webhooks that wait, or undefined if the server does not answer. */
  waiting(): Promise<number | undefined>;
  setPaused(isPaused: boolean): Promise<void>;
}

type Access = Parameters<typeof askInbox>[0];

/** Has the server store webhooks for the tunnel's URL. Throws `Failure`. */
export async function openAgentInbox(
  access: Access,
  tunnel: TunnelOptions,
  texts: readonly AgentInboxWebhook[],
  log: Log,
): Promise<AgentInbox> {
  const webhooks = webhooksOf(tunnel, texts);
  const url = tunnel.publish.kind === "url" ? (tunnel.publish.url ?? "") : "";
  const name = `${hostname()} ${tunnel.upstream.text}`;
  const ask = async (verb: AgentInboxVerb): Promise<AgentInboxAnswer> => {
    try {
      return await askInbox(access, { verb, url, name, webhooks: verb === "open" ? webhooks : [] }, systemClock);
    } catch (error) {
      const end = endOf(error, false) ?? { reason: "unreachable", message: describeLoss(error) };
      throw agentFailure(end, access.server);
    }
  };
  const opened = await ask("open");
  return {
    tunnel: { ...tunnel, publish: { kind: "labels", labels: { [agentInboxLabel]: opened.host } }, options: {} },
    url: opened.url,
    waitingFirst: opened.waiting,
    async waiting() {
      try {
        return (await ask("waiting")).waiting;
      } catch (error) {
        log.debug("inbox not read", { error });
        return undefined;
      }
    },
    async setPaused(isPaused) {
      await ask(isPaused ? "hold" : "release");
    },
  };
}

/** Returns what the server verifies. Throws `Failure` (usage) for a tunnel that cannot have an inbox. */
function webhooksOf(
  { publish, options, trafficPolicy }: TunnelOptions,
  webhooks: readonly AgentInboxWebhook[],
): readonly AgentInboxWebhook[] {
  const url = publish.kind === "url" ? publish.url : null;
  if (url === null || (url !== undefined && (!url.startsWith("https://") || url.includes("*")))) {
    throw new Failure("usage", "--inbox works with an HTTPS URL of one host: set --url https://NAME, or omit it");
  }
  const { WebhookVerification: verification, ...others } = options as {
    readonly WebhookVerification?: { readonly provider: string; readonly secret?: string };
  };
  const [other] = Object.keys(others);
  if (other !== undefined || trafficPolicy !== undefined) {
    const what = other ?? "a traffic policy";
    throw new Failure(
      "usage",
      `--inbox does not work with ${what}: remove the option, and set it on the route of the edge`,
    );
  }
  if (!verification) return webhooks;
  const { provider, secret = "" } = verification;
  return [...webhooks, { path: "/", provider, secret }];
}
