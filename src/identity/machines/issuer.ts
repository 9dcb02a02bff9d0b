import type { LoginSettings } from "../browser/login-settings.ts";
import { originOf } from "../browser/login-settings.ts";

/** The issuer of an account's tokens: one per account, so that no account can speak for another. */
export function issuerOf({ idpHost, httpsPort }: LoginSettings, accountId: string): string {
  return `${originOf(idpHost, httpsPort())}/oauth/${accountId}`;
}
