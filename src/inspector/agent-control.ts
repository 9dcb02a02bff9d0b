/** Actions of the agent that the local API can trigger. */
export interface AgentControl {
  /**
   * Publishes what `body` describes, in the format of agent files. Resolves with the tunnel's name when it is online.
   * Rejects with `LocalRefusal`.
   */
  start(body: object, form: "tunnel" | "endpoint"): Promise<string>;
  /**
   * Replaces the tunnel of this name, or adds it. Resolves with whether it existed. Open connections of the old tunnel
   * continue, and the old tunnel returns if the server refuses the new one. Rejects with `LocalRefusal`.
   */
  replace(name: string, body: object, form: "tunnel" | "endpoint"): Promise<boolean>;
  /** Removes a tunnel. Resolves with false if no tunnel has this name. */
  stop(name: string): Promise<boolean>;
  /** Stops the agent, as a signal does. */
  end(): void;
}
