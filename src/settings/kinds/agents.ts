/** Kinds of values for agents. */
import { isIP } from "node:net";
import { cidrIssue } from "../../lib/address.ts";
import { listenAddress } from "./address.ts";
import type { Kind } from "./kind.ts";

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;
const maxDurationMs = 2 ** 31 - 1;

/** A duration such as `30s`, `1m30s` or `500ms`, in milliseconds. */
export const duration: Kind<number> = {
  placeholder: "TIME",
  parse(given) {
    const parts = [...given.matchAll(/(\d{1,9}(?:\.\d{1,6})?)(ms|s|m|h)/g)];
    const whole = parts.map(([part]) => part).join("");
    const ms = parts.reduce((sum, [, count, unit]) => sum + Number(count) * units[unit as keyof typeof units], 0);
    if (parts.length === 0 || whole !== given || ms > maxDurationMs) {
      throw new Error("must be a length of time, such as 30s, 500ms or 1m30s");
    }
    return ms;
  },
};

/** A waiting time: at least a second, at most a day. */
export const patience: Kind<number> = {
  placeholder: duration.placeholder,
  parse(given) {
    const ms = duration.parse(given);
    if (ms >= units.s && ms <= 24 * units.h) return ms;
    throw new Error("must be from 1s to 24h");
  },
};

/** A fraction from 0 to 1. */
export const share: Kind<number> = {
  placeholder: "SHARE",
  parse(given) {
    const number = Number(given);
    if (/^\d*\.?\d+$/.test(given) && number >= 0 && number <= 1) return number;
    throw new Error("must be a number from 0 to 1");
  },
};

/** A header field as `name:value`. */
export const headerField: Kind<string> = {
  placeholder: "NAME:VALUE",
  parse(given) {
    if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+:/.test(given)) return given;
    throw new Error("must be a field name, a colon and a value, such as x-team:web");
  },
};

/** Credentials for basic authentication (RFC 7617), within the lengths that the edge accepts. */
export const credential: Kind<string> = {
  placeholder: "USER:PASSWORD",
  parse(given) {
    const [, password = ""] = /^[^:]+:(.*)$/s.exec(given) ?? [];
    const bytes = Buffer.byteLength(password);
    if (bytes >= 8 && bytes <= 128) return given;
    throw new Error("must be USER:PASSWORD with a password of 8 to 128 bytes");
  },
};

export const label: Kind<string> = {
  placeholder: "NAME=VALUE",
  parse(given) {
    if (/^[^=]+=[^=]+$/.test(given)) return given;
    throw new Error("must be NAME=VALUE");
  },
};

/** URL of an http or SOCKS5 proxy, with credentials if it requires them. */
export const proxyUrl: Kind<string> = {
  placeholder: "URL",
  parse(given) {
    const url = URL.parse(given);
    if (url && /^(?:https?|socks5h?):$/.test(url.protocol) && url.hostname !== "") return given;
    throw new Error("must be the http://, https:// or socks5:// URL of a proxy");
  },
};

/** Address of the inspector. */
export type InspectorAddress = "off" | { readonly host: string; readonly port: number };

/** `PORT` on the loopback address, `HOST:PORT`, or off. */
export const inspectorAddress: Kind<InspectorAddress> = {
  placeholder: "[HOST:]PORT|off",
  parse(given) {
    if (given === "off") return given;
    const { host = "127.0.0.1", port } = listenAddress.parse(given);
    return { host, port };
  },
};

/** An allowed `Host`: an address, a network, a name, or `.name` for all names below it. */
export const hostAllowed: Kind<string> = {
  placeholder: "NAME|.NAME|NETWORK",
  parse(given) {
    const isNetwork = given.includes("/") ? cidrIssue(given) === undefined : isIP(given) !== 0;
    if (isNetwork || /^\.?[a-z0-9-]+(?:\.[a-z0-9-]+)*$/i.test(given)) return given;
    throw new Error("must be a name, .name for all below it, an address or a network");
  },
};

/** A number of bytes; 0 and -1 have a special meaning. */
export const keptBytes: Kind<number> = {
  placeholder: "BYTES",
  parse(given) {
    if (/^(?:-1|\d{1,12})$/.test(given)) return Number(given);
    throw new Error("must be a number of bytes, 0 or -1");
  },
};

export const yesOrNo: Kind<boolean> = {
  placeholder: "true|false",
  parse(given) {
    if (["true", "1", "on"].includes(given)) return true;
    if (["false", "0", "off"].includes(given)) return false;
    throw new Error("must be true or false");
  },
};
