/** Whether the certificate authority's directory answers, and the time that it states. */
import { request as requestHttps } from "node:https";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import type { Finding } from "../doctor/finding.ts";

export interface AuthorityAnswer {
  readonly finding: Finding;
  /** Time in the `Date` field, milliseconds since 1970; undefined without a response. */
  readonly date?: number;
  /** Address of the terms of service, which `--email` accepts. */
  readonly terms?: string;
}

const timeoutMs = 10_000;
const maxAnswerBytes = 65_536;

/** @param ca PEM of the CA that issued the directory's certificate; the system's CAs if undefined */
export async function checkAuthority(url: string, ca: string | undefined): Promise<AuthorityAnswer> {
  const about = "certificate authority";
  try {
    const request = requestHttps(url, {
      agent: false,
      signal: AbortSignal.timeout(timeoutMs),
      ...(ca !== undefined && { ca }),
    });
    request.end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    if (Number(response.headers["content-length"] ?? 0) > maxAnswerBytes) throw new Error("its answer is too large");
    const directory = JSON.parse((await text(response)).slice(0, maxAnswerBytes)) as {
      readonly newOrder?: unknown;
      readonly meta?: { readonly termsOfService?: unknown };
    };
    if (response.statusCode !== 200 || typeof directory.newOrder !== "string")
      throw new Error("its answer is not an ACME directory");
    const date = Date.parse(response.headers.date ?? "");
    const terms = directory.meta?.termsOfService;
    return {
      finding: { outcome: "fine", about, message: `${url} answers` },
      ...(Number.isFinite(date) && { date }),
      ...(typeof terms === "string" && { terms }),
    };
  } catch (error) {
    const message = `${url} does not answer (${(error as Error).message}): allow outgoing HTTPS, or set --acme-directory`;
    return { finding: { outcome: "wrong", about, message } };
  }
}
