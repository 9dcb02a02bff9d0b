/** What the local API has the agent do, besides telling of it. */
export interface AgentControl {
  /**
   * Publishes what `body` describes in the words of agents' files; resolves with the tunnel's name when it is online.
   * Rejects with `LocalRefusal`.
   */
  start(body: object, form: "tunnel" | "endpoint"): Promise<string>;
  /** Takes a tunnel away; false: there is none of this name. */
  stop(name: string): Promise<boolean>;
  /** Ends the agent, as a signal does. */
  end(): void;
}
