/** Options for sharing a service with people: short forms of tunnel options, and how the command shows the URL. */
import { isIP } from "node:net";
import { randomText } from "../../lib/ids.ts";
import { credential, duration } from "../../settings/kinds/agents.ts";
import { oauthProviderNames } from "../../settings/kinds/oauth-apps.ts";
import { namedText, oneOf } from "../../settings/kinds/text.ts";
import { flagOnly, many, optional, toggle } from "../../settings/setting.ts";
import type { ValuesOf } from "../../settings/setting.ts";
import { Failure } from "../process/exit.ts";
import type { TunnelValues } from "../agent-files/tunnel-values.ts";

/** The user name that goes with `--password`. */
const guest = "guest";

export const sharingSettings = {
  expires: flagOnly(optional("Stop after this time, such as 2h, with exit code 0.", duration)),
  printConfig: flagOnly(
    toggle("Print the agent file and the API document that equal the other options, and publish nothing."),
  ),
} as const;

export const httpSharingSettings = {
  ...sharingSettings,
  qr: flagOnly(toggle("Show the public URL as a QR code.")),
  open: flagOnly(toggle("Open the public URL in a browser on this machine.")),
  password: flagOnly({
    ...optional(
      `Require a password, with the user name \`${guest}\`. Without a value, the command makes a password and prints it.`,
      { placeholder: "PASSWORD", parse: (given) => (given === "" ? newPassword() : checkPassword(given)) },
      { secret: true },
    ),
    bare: "",
  }),
  once: flagOnly({
    ...optional(
      "Serve one visitor: the first one. The command ends when the visitor has made no request for this time (5m without a value), with exit code 0.",
      duration,
    ),
    bare: "5m",
  }),
  login: flagOnly(
    optional(
      "Require a login with this provider, through the server's app at the provider. Short form of --oauth.",
      oneOf(oauthProviderNames),
    ),
  ),
  allowEmail: flagOnly(
    many(
      "E-mail address that has access after the login, or `*@DOMAIN` for all addresses of a domain; repeatable.",
      emailOrDomain(),
      { needs: "login" },
    ),
  ),
} as const;

export type SharingValues = Partial<ValuesOf<typeof httpSharingSettings>>;

/** What people need to use the URL. */
export interface SharedAccess {
  readonly visitor: { readonly user: string; readonly password: string } | undefined;
  readonly qr: boolean;
}

export const notShared: SharedAccess = { visitor: undefined, qr: false };

/** Returns the values with the short forms expanded. Throws `Failure` (usage). */
export function withSharing<V extends TunnelValues & SharingValues>(
  values: V,
): { readonly values: V; readonly shared: SharedAccess } {
  const { password, login, allowEmail = [], qr = false } = values;
  const visitor = password === undefined ? undefined : { user: guest, password };
  if (login !== undefined && values.oauth !== undefined) {
    throw new Failure("usage", "--login and --oauth set the same: use one of them");
  }
  const isDomain = (one: string): boolean => one.startsWith("*@");
  return {
    shared: { visitor, qr },
    values: {
      ...values,
      ...(visitor && { basicAuth: [...(values.basicAuth ?? []), `${visitor.user}:${visitor.password}`] }),
      ...(login !== undefined && {
        oauth: login,
        oauthAllowEmail: allowEmail.filter((one) => !isDomain(one)),
        oauthAllowDomain: allowEmail.filter(isDomain).map((one) => one.slice(2)),
      }),
    },
  };
}

/** Whether other machines can use the URL. */
export function isPublicUrl(url: string): boolean {
  const host = URL.parse(url)?.hostname ?? "localhost";
  if (/(?:^|\.)(?:localhost|internal)$/.test(host)) return false;
  return isIP(host.replace(/^\[|\]$/g, "")) === 0 || !/^(?:127\.|\[::1\]$)/.test(host);
}

/** Returns 82 random bits in groups that can be read aloud. */
function newPassword(): string {
  return Array.from({ length: 4 }, () => randomText(4)).join("-");
}

function checkPassword(password: string): string {
  try {
    credential.parse(`${guest}:${password}`);
    return password;
  } catch (error) {
    throw new Error("must have 8 to 128 bytes", { cause: error });
  }
}

function emailOrDomain() {
  const { placeholder } = namedText("ADDRESS");
  return {
    placeholder,
    parse(text: string) {
      if (/^(?:\*|[^\s@,;?<>*]+)@[^\s@,;?<>*]+$/.test(text)) return text.toLowerCase();
      throw new Error("must be an e-mail address, or *@ and a domain");
    },
  };
}
