/** Calls to the SAML thread, whose failures become refusals. */
import { LoginRefusal } from "../calls/identity.ts";
import type { IdentityCalls } from "../worker/identity-calls.ts";
import { WorkerFailure } from "../worker/worker-client.ts";
import type { WorkerClient } from "../worker/worker-client.ts";

export type SamlWorker = WorkerClient<IdentityCalls>;

/** Calls like `SamlWorker["call"]`. Rejects with `LoginRefusal` if the thread is overloaded or has died. */
export async function callWorker<Name extends keyof IdentityCalls>(
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
