import type { SettingKind } from "./kind.ts";

export const consoleRoles = ["viewer", "editor", "admin"] as const;
export type ConsoleRole = (typeof consoleRoles)[number];

/** Which users of the team's identity provider may use the console, and with which rights. */
export interface ConsoleAccessRule {
  /** Compared value: an email address, a domain, or a group. Addresses and domains are compared in lower case. */
  readonly by: "email" | "domain" | "group";
  readonly value: string;
  readonly role: ConsoleRole;
  /** Undefined: the first account. */
  readonly accountId: string | undefined;
}

export const consoleAccess: SettingKind<ConsoleAccessRule> = {
  placeholder: "WHO=ROLE[@ACCOUNT]",
  parse(text) {
    const [, who = "", role = "", accountId] = /^(.+)=([a-z]+)(?:@(ac_[0-9a-z]+))?$/.exec(text) ?? [];
    if (!consoleRoles.includes(role as ConsoleRole)) {
      throw new Error(
        `must be WHO=ROLE, with ann@example.com, @example.com or group:NAME, and ${consoleRoles.join(", ")}`,
      );
    }
    return { ...parseWho(who), role: role as ConsoleRole, accountId };
  },
};

function parseWho(who: string): Pick<ConsoleAccessRule, "by" | "value"> {
  if (who.startsWith("group:") && who.length > "group:".length) return { by: "group", value: who.slice(6) };
  const [, name = "", domain = ""] = /^([^@\s]*)@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)$/.exec(who) ?? [];
  if (domain === "") throw new Error("must name who: ann@example.com, @example.com or group:NAME");
  return name === ""
    ? { by: "domain", value: domain.toLowerCase() }
    : { by: "email", value: `${name}@${domain}`.toLowerCase() };
}
