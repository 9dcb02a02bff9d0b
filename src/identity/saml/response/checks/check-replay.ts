import { issueWindowMs } from "../work.ts";
import type { CheckFailure, Work } from "../work.ts";

/** 12: this assertion has not been used before. */
export async function checkReplay({
  host,
  input,
  assertionId,
  confirmedUntilMs,
  issuedMs,
  origin,
}: Work): Promise<CheckFailure> {
  const claimed = await host.claim({
    messageId: assertionId,
    // The earlier of the two checks that refuse it.
    untilMs: Math.min(confirmedUntilMs + input.skewMs, issuedMs + issueWindowMs + 1),
    unsolicited: origin.by === "provider",
  });
  if (claimed === "first") return undefined;
  return claimed === "used" ? "the Assertion was already used" : "it is unknown whether the Assertion was already used";
}
