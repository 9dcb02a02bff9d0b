/** What the local API refuses, in the form that scripts know from other agents' local APIs. */
const kinds = {
  /** The request is wrong; the status says how. */
  wrong: { code: 100, status: 400, msg: undefined },
  invalid_tunnel: { code: 102, status: 400, msg: "invalid tunnel configuration" },
  not_started: { code: 103, status: 502, msg: "failed to start tunnel" },
  failed: { code: 103, status: 500, msg: undefined },
  /** Scripts try again. */
  not_ready: { code: 104, status: 503, msg: "not yet ready to start tunnels" },
} as const;

export type RefusalKind = keyof typeof kinds;

export class LocalRefusal extends Error {
  override readonly name = "LocalRefusal";
  readonly kind: RefusalKind;
  readonly status: number;

  /** @param status where it is not the one of the kind */
  constructor(kind: RefusalKind, message: string, status: number = kinds[kind].status) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

export function renderRefusal({ kind, status, message }: Pick<LocalRefusal, "kind" | "status" | "message">): object {
  const { code, msg } = kinds[kind];
  return { error_code: code, status_code: status, msg: msg ?? message, details: { err: message } };
}
