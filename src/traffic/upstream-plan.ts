/**
 * Destinations of traffic as plain data: backends compile to them, and the edge executes them. `id` and `revision`
 * belong to the backend.
 */
export type UpstreamPlan =
  /** An agent's endpoint with its tunnel. */
  { readonly kind: "tunnel"; readonly id: string; readonly beside?: Beside } | BackendPlan;

/** Tunnels that can replace an endpoint's own: pooled endpoints of the same URL that treat traffic in the same way. */
export interface Beside {
  /** Name in the register of agents. */
  readonly name: string;
  /** Equal for equal options. */
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
