/**
 * Where traffic may go, as plain data: what a backend compiles to and the edge carries out. `id` and `revision` are
 * those of the backend.
 */
export type UpstreamPlan =
  /** An agent's endpoint: the tunnel behind it. */
  { readonly kind: "tunnel"; readonly id: string; readonly beside?: Beside } | BackendPlan;

/** Whose tunnels may stand in for an endpoint's own: pooled endpoints of its URL that do the same to traffic. */
export interface Beside {
  /** As the register of agents has it. */
  readonly name: string;
  /** The same text for the same options. */
  readonly likeness: string;
}

export type BackendPlan =
  | {
      readonly kind: "tunnel_group";
      readonly id: string;
      readonly revision: number;
      readonly accountId: string;
      readonly labels: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: "failover";
      readonly id: string;
      readonly revision: number;
      readonly members: readonly UpstreamPlan[];
    }
  | {
      readonly kind: "weighted";
      readonly id: string;
      readonly revision: number;
      readonly members: readonly { readonly plan: UpstreamPlan; readonly weight: number }[];
    }
  | {
      readonly kind: "http_response";
      readonly id: string;
      readonly revision: number;
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
    }
  | {
      readonly kind: "static";
      readonly id: string;
      readonly revision: number;
      readonly host: string;
      readonly port: number;
      readonly tls: boolean;
    };
