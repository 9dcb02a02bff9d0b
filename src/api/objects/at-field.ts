import { Refusal, catalogue } from "../../lib/errors.ts";

/** Fields of reservations that a write creates implicitly. The caller did not send them. */
const notGiven: ReadonlySet<string> = new Set(["domain", "addr"]);

/** Reports a refusal of `work` at the field at `path` of the written object. */
export function atField<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const kept = Object.entries(error.details).filter(([name]) => !notGiven.has(name));
    throw new Refusal(error.reason, error.message, {
      ...Object.fromEntries(kept),
      [path]: catalogue[error.reason].what,
    });
  }
}
