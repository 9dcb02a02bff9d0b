import { answered } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";

/** RFC 8555 §8.3: the key authorization, as a certificate authority asks for it. */
export function challengeAnswer(body: string): Step {
  const headers = { "content-type": "text/plain", "cache-control": "no-store" };
  return answered("router", "a certificate authority checks the domain", { status: 200, headers, body });
}
