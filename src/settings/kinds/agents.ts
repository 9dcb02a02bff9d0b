/** Kinds of values for agents. */
import { isIP } from "node:net";
import { cidrIssue } from "../../lib/address.ts";
import { listenAddress } from "./address.ts";
import type { SettingKind } from "./kind.ts";

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;
const maxDurationMs = 2 ** 31 - 1;

/** A duration such as `30s`, `1m30s` or `500ms`, in milliseconds. */
export const duration: SettingKind<number> = {
  placeholder: "TIME",
  parse(text) {
    const parts = [...text.matchAll(/(\d{1,9}(?:\.\d{1,6})?)(ms|s|m|h)/g)];
    const whole = parts.map(([part]) => part).join("");
    const ms = parts.reduce((sum, [, count, unit]) => sum + Number(count) * units[unit as keyof typeof units], 0);
    if (parts.length === 0 || whole !== text || ms > maxDurationMs) {
      throw new Error("must be a length of time, such as 30s, 500ms or 1m30s");
    }
    return ms;
  },
};

/** A waiting time: at least a second, at most a day. */
export const patience: SettingKind<number> = {
  placeholder: duration.placeholder,
  parse(text) {
    const ms = duration.parse(text);
    if (ms >= units.s && ms <= 24 * units.h) return ms;
    throw new Error("must be from 1s to 24h");
  },
};

/** A fraction from 0 to 1. */
export const share: SettingKind<number> = {
  placeholder: "SHARE",
  parse(text) {
    const number = Number(text);
    if (/^\d*\.?\d+$/.test(text) && number >= 0 && number <= 1) return number;
    throw new Error("must be a number from 0 to 1");
  },
};

/** A header field as `name:value`. */
export const headerField: SettingKind<string> = {
  placeholder: "NAME:VALUE",
  parse(text) {
    if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+:/.test(text)) return text;
    throw new Error("must be a field name, a colon and a value, such as x-team:web");
  },
};

/** Credentials for basic authentication (RFC 7617), within the lengths that the edge accepts. */
export const credential: SettingKind<string> = {
  placeholder: "USER:PASSWORD",
  parse(text) {
    const [, password = ""] = /^[^:]+:(.*)$/s.exec(text) ?? [];
    const bytes = Buffer.byteLength(password);
    if (bytes >= 8 && bytes <= 128) return text;
    throw new Error("must be USER:PASSWORD with a password of 8 to 128 bytes");
  },
};

export const label: SettingKind<string> = {
  placeholder: "NAME=VALUE",
  parse(text) {
    if (/^[^=]+=[^=]+$/.test(text)) return text;
    throw new Error("must be NAME=VALUE");
  },
};

/** URL of an http or SOCKS5 proxy, with credentials if it requires them. */
export const proxyUrl: SettingKind<string> = {
  placeholder: "URL",
  parse(text) {
    const url = URL.parse(text);
    if (url && /^(?:https?|socks5h?):$/.test(url.protocol) && url.hostname !== "") return text;
    throw new Error("must be the http://, https:// or socks5:// URL of a proxy");
  },
};

/** Address of the inspector. */
export type InspectorAddress = "off" | { readonly host: string; readonly port: number };

/** `PORT` on the loopback address, `HOST:PORT`, or off. */
export const inspectorAddress: SettingKind<InspectorAddress> = {
  placeholder: "[HOST:]PORT|off",
  parse(text) {
    if (text === "off") return text;
    const { host = "127.0.0.1", port } = listenAddress.parse(text);
    return { host, port };
  },
};

/** An allowed `Host`: an address, a network, a name, or `.name` for all names below it. */
export const hostAllowed: SettingKind<string> = {
  placeholder: "NAME|.NAME|NETWORK",
  parse(text) {
    const isNetwork = text.includes("/") ? cidrIssue(text) === undefined : isIP(text) !== 0;
    if (isNetwork || /^\.?[a-z0-9-]+(?:\.[a-z0-9-]+)*$/i.test(text)) return text;
    throw new Error("must be a name, .name for all below it, an address or a network");
  },
};

/** A number of bytes; 0 and -1 have a special meaning. */
export const keptBytes: SettingKind<number> = {
  placeholder: "BYTES",
  parse(text) {
    if (/^(?:-1|\d{1,12})$/.test(text)) return Number(text);
    throw new Error("must be a number of bytes, 0 or -1");
  },
};

export const yesOrNo: SettingKind<boolean> = {
  placeholder: "true|false",
  parse(text) {
    if (["true", "1", "on"].includes(text)) return true;
    if (["false", "0", "off"].includes(text)) return false;
    throw new Error("must be true or false");
  },
};
