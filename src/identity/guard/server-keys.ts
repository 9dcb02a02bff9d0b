import { createPublicKey, createSecretKey } from "node:crypto";
import type { ResourceObject } from "../../schema/object.ts";
import type { AssertionKey } from "./assertions.ts";
import type { LoginContext, SamlSigning } from "./login-context.ts";
import type { FlowKey } from "../browser/flow-sealing.ts";

/** Keys of the whole server, which take effect when they arrive. */
export interface ServerKeys extends Pick<LoginContext, "sealer" | "assertions" | "samlSigning"> {
  /** Undefined before they arrive. */
  accountId(): string | undefined;
  /** Replaces all keys. */
  load(objects: Iterable<ResourceObject>): void;
  /** Applies added and removed keys, by id. */
  change(changes: ReadonlyMap<string, ResourceObject | null>): void;
}

export function makeServerKeys(sealer: LoginContext["sealer"], assertions: LoginContext["assertions"]): ServerKeys {
  const keys = new Map<string, ResourceObject>();
  let samlSigning: SamlSigning | undefined;
  const use = (): void => {
    samlSigning = samlSigningOf(keys.values());
    sealer.use([...keys.values()].flatMap(flowKey));
    assertions.use([...keys.values()].flatMap(assertionKey));
  };
  return {
    sealer,
    assertions,
    samlSigning: () => samlSigning,
    accountId: () => keys.values().next().value?.account_id,
    load(objects) {
      keys.clear();
      for (const object of objects) keys.set(object.id, object);
      use();
    },
    change(changes) {
      for (const [id, object] of changes) {
        if (object) keys.set(id, object);
        else keys.delete(id);
      }
      use();
    },
  };
}

function flowKey({ id, doc }: ResourceObject): FlowKey[] {
  if (doc["purpose"] !== "flow") return [];
  return [{ id, key: createSecretKey(String(doc["key"]), "base64url"), createdAt: Date.parse(String(doc["made_at"])) }];
}

function assertionKey({ id, doc }: ResourceObject): AssertionKey[] {
  if (doc["purpose"] !== "assertion") return [];
  const keyPem = String(doc["key"]);
  const jwk = createPublicKey(keyPem).export({ format: "jwk" }) as Readonly<Record<string, unknown>>;
  return [{ id, keyPem, jwk, signsFrom: Date.parse(String(doc["used_from"])) }];
}

function samlSigningOf(keys: Iterable<ResourceObject>): SamlSigning | undefined {
  for (const { doc } of keys) {
    if (doc["purpose"] !== "request") continue;
    return { signingKeyPem: String(doc["key"]), signingCertificatePem: String(doc["certificate"]) };
  }
  return undefined;
}
