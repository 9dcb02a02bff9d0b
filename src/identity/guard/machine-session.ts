/** A machine with a service token, as a guard sees it. */
import { changeStep } from "../../traffic/step.ts";
import { Session } from "../sessions/login-session.ts";
import type { ClockTimes } from "../sessions/login-session.ts";
import type { Machine, PresentedToken } from "../sessions/service-tokens.ts";
import { audienceOf } from "./bearer.ts";
import type { LoginGate } from "./guard-options.ts";

export function titleOfMachine({ id, name }: Machine): string {
  return `service token ${id} "${name}"`;
}

/** Returns what the guard needs for every request of the machine to a host, made once. */
export function machineSession(
  guard: LoginGate,
  { machine, record }: PresentedToken,
  host: string,
  clock: ClockTimes,
): Session {
  return machine.at(guard, host, () => {
    const { method, siteId, ownerId, realm, machines } = guard.options;
    const session = new Session(
      {
        ...record,
        realm: realm.tag,
        host,
        siteId,
        routeId: ownerId,
        clientId: method.clientId,
        grant: {
          client: machine.id,
          name: machine.name,
          scopes: [...(machines?.scopes.slice(0, 1) ?? []), ...machine.scopes],
          audience: audienceOf(guard.options, host),
          issuedAt: 0,
        },
      },
      clock,
    );
    session.judgedBy = guard;
    session.verdict = { admits: true, reason: "the acl of the service token names this place" };
    session.passedStep = changeStep(method.kind, `${titleOfMachine(machine)}: its acl names this place`);
    return session;
  });
}
