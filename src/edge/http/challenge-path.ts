import { answerStep } from "../../traffic/step.ts";
import type { OwnedPath } from "./owned-paths.ts";

/** Answers a certificate authority's HTTP-01 challenge, which checks control of a domain (RFC 8555 §8.3). */
export function challengePath(body: (host: string, path: string) => string | undefined): OwnedPath {
  return {
    scope: "any_host",
    find(host, path) {
      const found = body(host, path);
      if (found === undefined) return undefined;
      const headers = { "content-type": "text/plain", "cache-control": "no-store" };
      const answer = { status: 200, headers, body: found };
      return { request: () => answerStep("router", "a certificate authority checks the domain", answer) };
    },
  };
}
