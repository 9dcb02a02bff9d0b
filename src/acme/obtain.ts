/** Obtains one certificate, from order to chain (RFC 8555 §7.4). */
import type { X509Certificate } from "node:crypto";
import { readPemCertificates } from "../lib/certificates/certificate-details.ts";
import { createSigningRequest } from "../lib/certificates/signing-request.ts";
import type { KeyType, KeyedCertificate } from "../lib/certificates/x509.ts";
import type { AcmeAccount } from "./open-account.ts";
import type { Challenge } from "./challenge-certificate.ts";
import type { ChallengeType } from "./challenge-types.ts";
import type { AcmeAnswer } from "./acme-connection.ts";
import { readAddress } from "./acme-directory.ts";
import { AcmeProblem, readProblem } from "./problem.ts";

export interface CertificateRequest {
  /** A DNS name. */
  readonly name: string;
  readonly keyType: KeyType;
  /** Acceptable types in order of preference. */
  readonly challenges: readonly ChallengeType[];
  /** Id of the certificate that the new one replaces (RFC 9773 §4.1). */
  readonly replaces: string | undefined;
  /** Presents a challenge. Resolves when it is publicly visible. */
  present(challenge: Challenge): Promise<void>;
}

const checkFailures = new Set(["caa", "connection", "dns", "incorrectResponse", "tls", "unauthorized"]);
const maxChain = 10;
const maxAuthorizations = 10;

/** Resolves with the chain, leaf first, and its new key. Rejects with `AcmeProblem`, or with the error of `present`. */
export async function obtainCertificate(account: AcmeAccount, wanted: CertificateRequest): Promise<KeyedCertificate> {
  const { answer, url } = await placeOrder(account, wanted);
  const authorizations = answer.json()["authorizations"];
  if (!Array.isArray(authorizations) || authorizations.length > maxAuthorizations) {
    throw new AcmeProblem("malformedAnswer", "the authority's order names no authorizations");
  }
  for (const authorization of authorizations) await proveControl(account, wanted, String(authorization));
  const ready = await account.poll("wait for the order", url, (at) => at.json()["status"] === "pending");
  checkOrder(ready, ["ready"]);
  const { request, keyPem } = await createSigningRequest([wanted.name], wanted.keyType);
  await account.post("finalize the order", readAddress(ready.json(), "finalize"), {
    csr: request.toString("base64url"),
  });
  const done = await account.poll("wait for the certificate", url, (at) =>
    ["ready", "processing"].includes(String(at.json()["status"])),
  );
  checkOrder(done, ["valid"]);
  const download = await account.post("download the certificate", readAddress(done.json(), "certificate"));
  return { certificatePem: readChain(download.body.toString("latin1"), wanted.name), keyPem };
}

async function placeOrder(
  account: AcmeAccount,
  { name, replaces }: CertificateRequest,
): Promise<{ answer: AcmeAnswer; url: string }> {
  const identifiers = [{ type: "dns", value: name }];
  const place = (payload: object): Promise<AcmeAnswer> =>
    account.post("order a certificate", account.directory.newOrder, payload);
  let answer: AcmeAnswer;
  if (replaces === undefined || account.directory.renewalInfo === undefined) answer = await place({ identifiers });
  else {
    try {
      answer = await place({ identifiers, replaces });
    } catch (error) {
      // RFC 9773 §5: the authority refuses `replaces` if the certificate was replaced before or belongs to another
      // account. The order is then repeated without it.
      const types = ["alreadyReplaced", "malformed", "unauthorized"];
      if (!(error instanceof AcmeProblem) || !types.includes(error.type)) throw error;
      answer = await place({ identifiers });
    }
  }
  const { location } = answer.headers;
  if (location === undefined) throw new AcmeProblem("malformedAnswer", "the authority names no order");
  return { answer, url: location };
}

async function proveControl(account: AcmeAccount, wanted: CertificateRequest, url: string): Promise<void> {
  const document = (await account.post("read an authorization", url)).json();
  if (document["status"] === "valid") return;
  const offered = (Array.isArray(document["challenges"]) ? document["challenges"] : []) as Record<string, unknown>[];
  const type = wanted.challenges.find((one) => offered.some((challenge) => challenge["type"] === one));
  const challenge = offered.find((one) => one["type"] === type);
  if (type === undefined || challenge === undefined) {
    const names = wanted.challenges.join(" or ");
    throw new AcmeProblem("noChallenge", `the authority does not offer ${names} for "${wanted.name}"`);
  }
  const token = readAddress(challenge, "token");
  // The token becomes part of a path.
  if (!/^[A-Za-z0-9_-]{16,512}$/.test(token))
    throw new AcmeProblem("malformedAnswer", "the authority sent a challenge token that is malformed");
  await wanted.present({ type, token, keyAuthorization: `${token}.${account.thumbprint}` });
  await account.post(`answer ${type}`, readAddress(challenge, "url"), {});
  const result = (
    await account.poll(`wait for ${type}`, url, (answer) => answer.json()["status"] === "pending")
  ).json();
  if (result["status"] === "valid") return;
  const failed = (result["challenges"] as Record<string, unknown>[] | undefined)?.find((one) => one["error"]);
  const problem = readProblem(failed?.["error"], `${type} for "${wanted.name}" failed`);
  // The validation failed, whatever name the authority gives the problem.
  throw checkFailures.has(problem.type) ? problem : new AcmeProblem("incorrectResponse", problem.message);
}

function checkOrder(answer: AcmeAnswer, statuses: readonly string[]): void {
  const { status, error } = answer.json();
  if (!statuses.includes(String(status))) throw readProblem(error, "the order was not fulfilled");
}

/** Verifies that the chain can be served. Otherwise the order failed. */
function readChain(pem: string, name: string): string {
  const certificates = readPemCertificates(pem, maxChain);
  if (typeof certificates === "string") {
    throw new AcmeProblem("malformedAnswer", `the authority's certificate must ${certificates}`);
  }
  const leaf = certificates[0] as X509Certificate;
  if (leaf.checkHost(name, { subject: "never" }) === undefined) {
    throw new AcmeProblem("malformedAnswer", `the authority's certificate is not for "${name}"`);
  }
  return pem;
}
