import type { AcmeConnection } from "./acme-connection.ts";
import { AcmeProblem } from "./problem.ts";

/** The URLs of an ACME server (RFC 8555 §7.1.1). */
export interface Directory {
  readonly newNonce: string;
  readonly newAccount: string;
  readonly newOrder: string;
  /** RFC 9773 §4.1; undefined if the server does not offer renewal information. */
  readonly renewalInfo: string | undefined;
  /** The server accepts only accounts with external account binding (RFC 8555 §7.3.4). */
  readonly externalAccountRequired: boolean;
}

export async function readDirectory(connection: AcmeConnection, url: string): Promise<Directory> {
  const answer = await connection.send("GET", url);
  if (answer.status !== 200) {
    throw new AcmeProblem("unreachable", `the authority's directory answers with status ${answer.status}`, {
      retryAfterMs: answer.retryAfterMs,
    });
  }
  const document = answer.json();
  const { renewalInfo } = document;
  const meta = document["meta"] as { readonly externalAccountRequired?: unknown } | undefined;
  return {
    newNonce: readAddress(document, "newNonce"),
    newAccount: readAddress(document, "newAccount"),
    newOrder: readAddress(document, "newOrder"),
    renewalInfo: typeof renewalInfo === "string" ? renewalInfo : undefined,
    externalAccountRequired: meta?.externalAccountRequired === true,
  };
}

/** Reads a URL from one of the server's documents. */
export function readAddress(document: Readonly<Record<string, unknown>>, name: string): string {
  const value = document[name];
  if (typeof value !== "string") throw new AcmeProblem("malformedAnswer", `the authority's answer has no "${name}"`);
  return value;
}
