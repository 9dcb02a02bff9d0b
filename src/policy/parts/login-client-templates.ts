/** The client of a login. Its id and secret may be read from a vault each time. */
import { CelFailure } from "../../cel/values/cel-failure.ts";
import type { ConnectionFacts } from "../../traffic/connection-facts.ts";
import type { ActionScope } from "../language/action.ts";
import { PolicyContext } from "../language/policy-context.ts";
import type { PolicyPlace } from "../language/policy-context.ts";
import type { AskedClient } from "../../traffic/asked-login.ts";
import type { Template } from "../language/template.ts";
import { secretGet } from "../functions/secret-functions.ts";

export interface ClientTemplates {
  readonly id: Template;
  readonly secret: Template;
}

/** A visitor returns from the provider with a different request, so the client must not depend on a request. */
export function compileClient(id: string, secret: string, scope: ActionScope): ClientTemplates {
  const fixed = (text: string, at: string): Template => {
    const template = scope.template(text, at);
    const [other] = [...template.variables, ...template.volatile.filter((name) => name !== secretGet())];
    if (other !== undefined) {
      const message = `must be the same for every request because visitors come back with another one: it can read secrets, but not "${other}"`;
      scope.wrong(at, message, "policy_interpolation_invalid");
    }
    return template;
  };
  return { id: fixed(id, "client_id"), secret: fixed(secret, "client_secret") };
}

export function clientAt({ id, secret }: ClientTemplates, place: PolicyPlace): AskedClient {
  const { constant: ownId } = id;
  const { constant: ownSecret } = secret;
  if (ownId !== undefined && ownSecret !== undefined) {
    const client = Object.freeze({ id: ownId, secret: ownSecret });
    return { name: ownId, mayChange: false, read: () => client };
  }
  return {
    name: id.source,
    mayChange: true,
    read() {
      const context = new PolicyContext(place, "on_http_request", nowhere, undefined, false);
      const [one, other] = [id.text(context), secret.text(context)];
      return one instanceof CelFailure || other instanceof CelFailure ? undefined : { id: one, secret: other };
    },
  };
}

/** A placeholder that no expression reads. */
const nowhere: ConnectionFacts = Object.freeze({
  source: "",
  sourcePort: 0,
  local: {},
  localPort: 0,
  startedAt: 0,
  tls: undefined,
});
