/** Connection to the certificate authority: one account, opened at its first use. */
import { openAccount } from "../../acme/open-account.ts";
import type { AcmeAccount } from "../../acme/open-account.ts";
import { connectAcme } from "../../acme/acme-connection.ts";
import type { ExternalAccount } from "../../acme/jws.ts";
import { readDirectory } from "../../acme/acme-directory.ts";
import type { Directory } from "../../acme/acme-directory.ts";
import { readRenewalWindow, renewalId } from "../../acme/renewal-info.ts";
import type { RenewalWindow } from "../../acme/renewal-info.ts";
import type { Clock } from "../../lib/clock.ts";
import { newKeyPair } from "../../lib/certificates/x509.ts";
import type { Store } from "../../storage/store.ts";
import type { AcmeSettings } from "../../settings/acme.ts";
import { systemWrite } from "../operation/system-write.ts";
import { docOf } from "../../schema/doc.ts";
import { acmeAccount } from "../../resources/acme-account.ts";

export interface Authority {
  readonly directoryUrl: string;
  /** Rejects with `AcmeProblem`. */
  account(): Promise<AcmeAccount>;
  /**
   * Returns when to renew the certificate. Undefined if the authority does not state it. Rejects with `AcmeProblem`.
   */
  renewalWindow(certificatePem: string): Promise<RenewalWindow | undefined>;
  /** Drops the cached directory and account, so that their next use reads them again. */
  forget(): void;
}

/** A directory may change. RFC 8555 §7.1.1 does not state how long it is valid. */
const directoryLifeMs = 24 * 60 * 60 * 1000;

export interface AuthorityOptions {
  readonly store: Store;
  readonly settings: AcmeSettings;
  readonly directoryUrl: string;
  readonly clock: Clock;
  /** Aborts current requests. */
  readonly signal: AbortSignal;
}

export function openAuthority({ store, settings, directoryUrl, clock, signal }: AuthorityOptions): Authority {
  const { acmeCa: ca, acmeEmail: email } = settings;
  const externalAccount = externalAccountOf(settings);
  const connection = connectAcme({ directoryUrl, ca, clock, signal });
  let directory: { readonly at: number; readonly read: Promise<Directory> } | undefined;
  let account: Promise<AcmeAccount> | undefined;

  const currentDirectory = (): Promise<Directory> => {
    if (!directory || clock.monotonic() - directory.at > directoryLifeMs) {
      const begun = { at: clock.monotonic(), read: readDirectory(connection, directoryUrl) };
      directory = begun;
      account = undefined;
      begun.read.catch(() => {
        if (directory === begun) directory = undefined;
      });
    }
    return directory.read;
  };
  const open = async (read: Directory): Promise<AcmeAccount> =>
    openAccount({
      connection,
      directory: read,
      keyPem: await accountKey(store, directoryUrl, clock),
      email,
      externalAccount,
      clock,
    });
  return {
    directoryUrl,
    async account() {
      const read = await currentDirectory();
      if (!account) {
        const begun = open(read);
        account = begun;
        begun.catch(() => {
          if (account === begun) account = undefined;
        });
      }
      return account;
    },
    async renewalWindow(certificatePem) {
      const { renewalInfo } = await currentDirectory();
      const id = renewalInfo === undefined ? undefined : renewalId(certificatePem);
      return renewalInfo === undefined || id === undefined ? undefined : readRenewalWindow(connection, renewalInfo, id);
    },
    forget() {
      directory = undefined;
      account = undefined;
    },
  };
}

function externalAccountOf({ acmeEabKey, acmeEabSecret }: AcmeSettings): ExternalAccount | undefined {
  if (acmeEabKey === undefined || acmeEabSecret === undefined) return undefined;
  return { keyId: acmeEabKey, hmacKey: Buffer.from(acmeEabSecret, "base64url") };
}

/** Returns the key of the server's account, and creates it at the first use. */
async function accountKey(store: Store, directory: string, clock: Clock): Promise<string> {
  const owner = store.accounts()[0];
  if (!owner) throw new Error("find the ACME account: the server has no account");
  const present = store.holder(owner.id, "acme_directory", directory);
  if (present) return docOf(present, acmeAccount).private_key_pem;
  const { privateKey } = await newKeyPair("ec");
  const made = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
  const context = systemWrite(owner.id, "createACMEAccount", clock);
  const { result } = await store.write(context, (draft) => {
    const other = draft.holder(owner.id, "acme_directory", directory);
    return other ?? draft.create(owner.id, acmeAccount.name, { directory, private_key_pem: made });
  });
  return docOf(result, acmeAccount).private_key_pem;
}
