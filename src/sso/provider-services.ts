import type { SignIns } from "./sign-ins.ts";
import type { SigningKey } from "./signing-key.ts";

/** Services that both protocols share. */
export interface ProviderServices {
  readonly issuer: string;
  readonly now: () => number;
  readonly keys: ProviderKeys;
  readonly signIns: SignIns;
  /** The origin to which visitors are redirected; "" for none. */
  readonly ours: () => string;
  /** Posts a form to a path at that origin. */
  readonly tell: (path: string, form: Readonly<Record<string, string>>) => Promise<void>;
}

interface ProviderKeys {
  readonly current: SigningKey;
  readonly published: () => readonly SigningKey[];
}
