/** The client's login: public keys and certificates only, with a bounded number of attempts (RFC 4252). */
import { numbers, reasons } from "../numbers.ts";
import { certificateProblem, certifiedType, parseCertificate, signatureAlgorithm } from "../keys/user-certificate.ts";
import { algorithmsOfType, fingerprintOf, InvalidKey, parsePublicKey } from "../keys/public-key.ts";
import type { SshPublicKey } from "../keys/public-key.ts";
import type { Transport } from "../transport/ssh-transport.ts";
import { encodeMessage, no, SshViolation, encodeString, WireReader } from "../ssh-wire.ts";

/** Maximum number of keys that a client may try. */
const maxAttempts = 20;
/** Maximum number of signatures that are verified. */
const maxSignatures = 6;
const service = "ssh-connection";

/** A key whose owner has signed the login. */
export interface ProvenKey {
  readonly user: string;
  /** Fingerprint of the key, or of the authority of its certificate. */
  readonly fingerprint: string;
  readonly certificate: { readonly serial: string; readonly keyId: string; readonly expiresAtMs: number } | undefined;
}

export interface LoginOptions {
  readonly transport: Transport;
  readonly ip: string;
  readonly now: () => number;
  /** Returns why the key is not accepted, as lines for the user. Undefined if it is. */
  readonly login: (key: ProvenKey) => Promise<string | undefined>;
  /** An attempt has failed. */
  readonly failed: (fingerprint: string, why: string) => void;
  readonly succeeded: () => void;
}

export class UserLogin {
  readonly #options: LoginOptions;
  #hasService = false;
  #attempts = 0;
  #signatures = 0;
  #isChecking = false;
  #isOver = false;

  constructor(options: LoginOptions) {
    this.#options = options;
  }

  take(number: number, payload: Buffer): void {
    const reader = new WireReader(payload, 1);
    if (number === numbers.serviceRequest) return this.#service(reader.text());
    if (number !== numbers.authRequest || !this.#hasService) throw new SshViolation("a message precedes the login");
    // RFC 4252 §5.3: later requests are ignored.
    if (this.#isOver) return;
    if (this.#isChecking) throw new SshViolation("a login does not wait for its answer");
    this.#request(reader);
  }

  #service(name: string): void {
    if (name !== "ssh-userauth") throw new SshViolation("the login must precede every other service");
    this.#hasService = true;
    this.#options.transport.send(encodeMessage(numbers.serviceAccept, encodeString(name)));
  }

  #request(reader: WireReader): void {
    const user = reader.text();
    if (reader.text() !== service) throw new SshViolation("the service of the login is unknown");
    const method = reader.text();
    if (method !== "none") this.#attempts += 1;
    if (this.#attempts > maxAttempts) {
      return this.#options.transport.disconnect(reasons.noMoreMethods, "too many keys were tried: choose one with -i");
    }
    if (method === "publickey") return this.#publicKey(user, reader);
    this.#refuse();
  }

  #publicKey(user: string, reader: WireReader): void {
    const isSigned = reader.boolean();
    const algorithm = reader.text();
    const blob = reader.string();
    let key: SshPublicKey;
    let proven: ProvenKey;
    try {
      const type = certifiedType(algorithm);
      if (type === undefined) {
        key = parsePublicKey(blob);
        proven = { user, fingerprint: fingerprintOf(blob), certificate: undefined };
        if (!algorithmsOfType[key.type]?.includes(algorithm)) throw new InvalidKey("must have a supported algorithm");
      } else {
        const certificate = parseCertificate(blob, "user");
        ({ key } = certificate);
        if (key.type !== type) throw new InvalidKey("must have the algorithm of its key");
        const why = certificateProblem(certificate, { user, ip: this.#options.ip, now: this.#options.now() });
        if (why !== undefined) {
          return this.#deny(
            certificate.authorityFingerprint,
            `The certificate "${toVisible(certificate.keyId)}" was rejected: ${toVisible(why)}.`,
          );
        }
        proven = {
          user,
          fingerprint: certificate.authorityFingerprint,
          certificate: {
            serial: String(certificate.serial),
            keyId: certificate.keyId,
            expiresAtMs: certificate.validBeforeMs,
          },
        };
      }
    } catch (error) {
      if (!(error instanceof InvalidKey)) throw error;
      return this.#refuse();
    }
    // Every usable key is accepted here, so that the answer does not reveal which keys are known (H1).
    if (!isSigned)
      return this.#options.transport.send(
        encodeMessage(numbers.authKeyOk, encodeString(algorithm), encodeString(blob)),
      );
    this.#signatures += 1;
    if (this.#signatures > maxSignatures) {
      return this.#options.transport.disconnect(
        reasons.noMoreMethods,
        `${maxSignatures} keys were rejected: choose the right one with -i, and set IdentitiesOnly=yes`,
      );
    }
    const end = reader.at;
    const signature = reader.string();
    const signed = Buffer.concat([encodeString(this.#sessionId), reader.bytes.subarray(0, end)]);
    if (reader.left > 0 || !key.verifies(signatureAlgorithm(algorithm), signature, signed)) {
      return this.#deny(proven.fingerprint, "The signature of the login is not valid.");
    }
    void this.#check(proven);
  }

  get #sessionId(): Buffer {
    return this.#options.transport.sessionId as Buffer;
  }

  async #check(proven: ProvenKey): Promise<void> {
    this.#isChecking = true;
    const why = await this.#options.login(proven).catch(() => "The server cannot check keys at present. Try again.");
    this.#isChecking = false;
    if (this.#options.transport.isOver) return;
    if (why !== undefined) return this.#deny(proven.fingerprint, why);
    this.#isOver = true;
    this.#options.transport.send(encodeMessage(numbers.authSuccess));
    this.#options.succeeded();
  }

  #deny(fingerprint: string, why: string): void {
    this.#options.failed(fingerprint, why);
    this.#options.transport.send(encodeMessage(numbers.authBanner, encodeString(`${why}\r\n`), encodeString("")));
    this.#refuse();
  }

  #refuse(): void {
    this.#options.transport.send(encodeMessage(numbers.authFailure, encodeString("publickey"), no));
  }
}

/** Certificates contain any text, which must not control the client's terminal. */
function toVisible(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 200);
}
