/** Replaces everything outside of the configuration. Nothing is ever sent; the record supplies the results. */
import type { LoginJobs } from "../identity/jobs/login-jobs.ts";
import type { LoginMethod } from "../identity/methods/method.ts";
import type { SamlLogins } from "../identity/saml-login/saml-logins.ts";
import { everybody } from "../identity/sessions/login-verdict.ts";
import type { PolicyServices } from "../policy/language/policy-context.ts";

export function outsideServices(
  lacks: (what: string) => void,
): Pick<PolicyServices, "random" | "keySets" | "calls" | "internalConnection"> {
  return {
    random() {
      lacks("the random number");
      return 0.5;
    },
    keySets: () => ({
      keysFor() {
        lacks("the keys of the token's issuer");
        return Promise.resolve(undefined);
      },
      has: () => false,
    }),
    calls: {
      call() {
        lacks("the response to a request of the rule");
        const fault = { kind: "failed" as const, message: "not sent" };
        return Promise.resolve([{ request: undefined, answer: undefined, fault, timeMs: 0 }]);
      },
    },
    internalConnection: () => true,
  };
}

const rejectUnreachable = (): never => {
  throw new Error("ask a login provider: a backtest sends nothing");
};

export const unreachableJobs: LoginJobs & { close(): void } = {
  metadata: rejectUnreachable,
  login: rejectUnreachable,
  renew: rejectUnreachable,
  logoutUrl: rejectUnreachable,
  loggedOut: rejectUnreachable,
  sign: rejectUnreachable,
  close() {},
};

/** SAML logins of recorded visitors. Neither metadata nor messages are read. */
export const recordedSaml: Pick<SamlLogins, "guard"> = {
  guard({ login, saml }, scope, { guard }) {
    const method: LoginMethod = {
      kind: "saml",
      clientId: saml.entityId,
      realmId: saml.entityId,
      title: "SAML",
      url: "recorded",
      scopes: [],
      forwardsTokens: false,
      callbackPath: "",
      begin: rejectUnreachable,
      finish: rejectUnreachable,
    };
    const lists = { ...everybody, groups: new Set(saml.authorizedGroups) };
    return guard(method, saml.routeId, { ...login, lists }, scope);
  },
};
