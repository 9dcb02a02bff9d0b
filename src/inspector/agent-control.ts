/** What the local API has the agent do, besides telling of it. */
export interface AgentControl {
  /**
   * Publishes what `body` describes in the words of agents' files; resolves with the tunnel's name when it is online.
   * Rejects with `LocalRefusal`.
   */
  start(body: object, form: "tunnel" | "endpoint"): Promise<string>;
  /**
   * Publishes it in the place of the tunnel of this name, or anew; resolves with whether there was one. What is under way
   * through that goes on, and it is back where the server refuses the other. Rejects with `LocalRefusal`.
   */
  replace(name: string, body: object, form: "tunnel" | "endpoint"): Promise<boolean>;
  /** Takes a tunnel away; false: there is none of this name. */
  stop(name: string): Promise<boolean>;
  /** Ends the agent, as a signal does. */
  end(): void;
}
