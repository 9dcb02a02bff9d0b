/** Logins in simulations: a described visitor is logged in, and all others would have to log in. */
import type { AskedLogin } from "../traffic/asked-login.ts";
import type { Exchange } from "../traffic/exchange.ts";
import type { LoginGuard } from "../traffic/login.ts";
import type { DescribedVisitor } from "../traffic/visitor.ts";
import { answerStep, changeStep, denyStep } from "../traffic/step.ts";
import type { Step } from "../traffic/step.ts";

export function makeSimulatedLogin(asked: AskedLogin): LoginGuard {
  const { kind } = asked.provider;
  const admits = ({ email, emailVerified, groups }: DescribedVisitor): boolean => {
    if ("authorizedGroups" in asked) {
      return asked.authorizedGroups.length === 0 || groups.some((one) => asked.authorizedGroups.includes(one));
    }
    const { emailAddresses, emailDomains } = asked;
    if (emailAddresses.length + emailDomains.length === 0) return true;
    const address = email.toLowerCase();
    const domain = address.slice(address.indexOf("@") + 1);
    return emailVerified && (emailAddresses.includes(address) || emailDomains.includes(domain));
  };
  const decide = (exchange: Exchange): Step => {
    const visitor = exchange.rehearsedAs;
    if (!visitor) return answerStep(kind, "not logged in: redirected to the login", sentAway);
    if (!admits(visitor)) {
      return kind === "saml"
        ? denyStep(kind, "saml_group", `${visitor.email} is not in a listed group`)
        : denyStep(kind, "login_not_listed", `${visitor.email} is not on a list`);
    }
    const { id: subject, email, emailVerified, name, groups } = visitor;
    exchange.login = { module: kind, clientId: "", subject, email, emailVerified, name, groups };
    return changeStep(kind, `${visitor.email} is logged in`);
  };
  return { request: decide, rehearse: decide };
}

const sentAway = Object.freeze({ status: 302, headers: {}, body: "" });
