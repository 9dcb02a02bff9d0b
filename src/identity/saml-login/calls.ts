/** Calls to the SAML thread, as logins make them: what keeps it from answering is a refusal. */
import { LoginRefusal } from "../calls/identity.ts";
import type { IdentityCalls } from "../worker/calls.ts";
import { WorkerFailure } from "../worker/client.ts";
import type { WorkerClient } from "../worker/client.ts";

export type SamlWorker = WorkerClient<IdentityCalls>;

/** As `SamlWorker["call"]`. Rejects with `LoginRefusal` when the thread has too much to do or has died. */
export async function ask<Name extends keyof IdentityCalls>(
  worker: SamlWorker,
  name: Name,
  input: Parameters<IdentityCalls[Name]>[0],
  host?: Parameters<IdentityCalls[Name]>[1],
): Promise<Awaited<ReturnType<IdentityCalls[Name]>>> {
  try {
    return await worker.call(name, input, host === undefined ? {} : { host });
  } catch (error) {
    if (error instanceof WorkerFailure && error.why !== "failed") throw new LoginRefusal("login_busy", error.message);
    throw error;
  }
}
