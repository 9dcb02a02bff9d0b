/**
 * Basic authentication (RFC 7617) of an endpoint's visitors, as requested by an agent (agent-protocol.md §5,
 * `BasicAuth`).
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { CompiledModule } from "../../../traffic/module.ts";
import { passStep } from "../../../traffic/step.ts";
import type { Step } from "../../../traffic/step.ts";

/** Name of the option in lower case. It is compiled here, because routes have no module for it. */
export const basicAuthOption = "basicauth";

const maxCredentials = 100;
const maxUserBytes = 255;
/** Limits of the service for which the public SDKs are made. */
const minPasswordBytes = 8;
const maxPasswordBytes = 128;
/** Length of scheme, space and base64 of the longest credential. A longer field cannot be correct. */
const maxFieldLength = 8 + Math.ceil((maxUserBytes + 1 + maxPasswordBytes) / 3) * 4;

type Members = Readonly<Record<string, unknown>>;

/**
 * Accepts requests with one of the credentials. The field is forwarded, so the service's own authentication must also
 * accept it. Throws `Error` with the problem, never including a password.
 */
export function compileBasicAuth(option: Members): CompiledModule {
  const given = option["credentials"];
  if (!Array.isArray(given) || given.length === 0 || given.length > maxCredentials) {
    throw new Error(`"credentials" must be a list of 1 to ${maxCredentials}`);
  }
  // Compares digests, so that timing reveals neither the length nor the position of a difference.
  const key = randomBytes(32);
  const digest = (text: string): Buffer => createHmac("sha256", key).update(text).digest();
  const digests = given.map((one, at) => digest(readCredential(one, at)));
  const isKnown = (shown: string): boolean => {
    const wanted = digest(shown);
    let found = false;
    for (const one of digests) found = timingSafeEqual(one, wanted) || found;
    return found;
  };
  return {
    request({ request }) {
      const fields = request.headers.getAll("authorization");
      if (fields.length === 0) return asked;
      const shown = fields.length === 1 ? readField(fields[0] as string) : undefined;
      return shown !== undefined && isKnown(shown) ? admitted : refused;
    },
  };
}

/** Returns `user:password` of the field (RFC 7617 §2). Undefined in any other form. */
function readField(field: string): string | undefined {
  if (field.length > maxFieldLength) return undefined;
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(field)?.[1];
  return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString("latin1");
}

/** Returns bytes, as for the received field: the challenge requires UTF-8. */
function readCredential(value: unknown, at: number): string {
  const bad = (why: string): Error => new Error(`credential ${at + 1}: ${why}`);
  if (typeof value !== "object" || value === null) throw bad("it is not an object");
  const members = value as Members;
  const unread = Object.keys(members).find((name) => !readMembers.has(name) && (members[name] ?? "") !== "");
  if (unread !== undefined) throw bad(`"${unread}" cannot be read here: send "cleartext_password"`);
  const { username, cleartext_password: password } = members;
  if (typeof username !== "string" || username === "" || username.includes(":")) {
    throw bad('"username" must be a text without ":"');
  }
  if (Buffer.byteLength(username) > maxUserBytes) throw bad(`"username" is longer than ${maxUserBytes} bytes`);
  const length = typeof password === "string" ? Buffer.byteLength(password) : 0;
  if (length < minPasswordBytes || length > maxPasswordBytes) {
    throw bad(`"cleartext_password" must have ${minPasswordBytes} to ${maxPasswordBytes} bytes`);
  }
  return Buffer.from(`${username}:${String(password)}`).toString("latin1");
}

const readMembers: ReadonlySet<string> = new Set(["username", "cleartext_password"]);

const challenge = { "www-authenticate": 'Basic realm="ngrok", charset="UTF-8"' };
const denyLogin = (reason: string): Step =>
  Object.freeze({
    by: "basic_auth",
    outcome: "denied" as const,
    reason,
    answer: { error: "basic_auth_required" as const, headers: challenge },
  });
const asked = denyLogin("the request has no credentials");
const refused = denyLogin("the credentials are wrong");
const admitted = passStep("basic_auth", "the credentials are right");
