/** Logins where there are no visitors: whoever is described is logged in, and all others would have to. */
import type { AskedLogin } from "../traffic/asked-login.ts";
import type { Exchange } from "../traffic/exchange.ts";
import type { DescribedVisitor, LoginGuard } from "../traffic/login.ts";
import { answered, changed, denied } from "../traffic/step.ts";
import type { Step } from "../traffic/step.ts";

export function simulatedLogin({ provider, emailAddresses, emailDomains }: AskedLogin): LoginGuard {
  const { kind } = provider;
  const admits = ({ email, emailVerified }: DescribedVisitor): boolean => {
    if (emailAddresses.length + emailDomains.length === 0) return true;
    const address = email.toLowerCase();
    const domain = address.slice(address.indexOf("@") + 1);
    return emailVerified && (emailAddresses.includes(address) || emailDomains.includes(domain));
  };
  const decide = (exchange: Exchange): Step => {
    const visitor = exchange.rehearsedAs;
    if (!visitor) return answered(kind, "nobody is logged in: sent away to log in", sentAway);
    if (!admits(visitor)) return denied(kind, "login_not_listed", `${visitor.email} is on none of the lists`);
    const { id: subject, email, emailVerified, name } = visitor;
    exchange.login = { module: kind, clientId: "", subject, email, emailVerified, name };
    return changed(kind, `${visitor.email} is logged in`);
  };
  return { request: decide, rehearse: decide };
}

const sentAway = Object.freeze({ status: 302, headers: {}, body: "" });
