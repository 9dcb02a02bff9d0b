import { Refusal, catalogue } from "../../lib/errors.ts";

/** Fields of reservations that are made along the way: the caller has not given them. */
const notGiven: ReadonlySet<string> = new Set(["domain", "addr"]);

/** What `work` refuses, as a refusal of the field at `path` of the object that is written. */
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
