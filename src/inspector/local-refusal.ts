/** What the local API refuses, in the form that scripts know. */
export class LocalRefusal extends Error {
  override readonly name = "LocalRefusal";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Numbers of other agents' local APIs: 100 for a request that is wrong, 103 for what could not be done. */
export function renderRefusal({ status, message }: Pick<LocalRefusal, "status" | "message">): object {
  const isTheirs = status < 500;
  return {
    error_code: isTheirs ? 100 : 103,
    status_code: status,
    msg: message,
    details: { err: message },
  };
}
