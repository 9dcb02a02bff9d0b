/** A URL for one visitor: the first one gets a cookie, and requests without it are refused. */
import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Clock, Timer } from "../lib/clock.ts";
import { randomText } from "../lib/ids.ts";
import type { Gate } from "./path-switch.ts";
import { startLazily } from "./parse-targets.ts";
import type { Upstream } from "./upstream.ts";

export interface OneVisitor extends Gate {
  /** The upstream behind the gate; its service must speak HTTP/1.1. */
  behind(upstream: Upstream): Upstream;
}

/** Browsers accept the first name over TLS alone. */
const names = { https: "__Host-one-visitor", http: "one-visitor" } as const;

/**
 * @param idleMs the visitor's session is over after this time without a request
 * @param over called once, when it is over
 */
export function limitToOneVisitor(clock: Clock, idleMs: number, over: () => void): OneVisitor {
  let secret: string | undefined;
  let open = 0;
  let idle: Timer | undefined;
  const gate: Gate = {
    enter(request) {
      const isFirst = secret === undefined;
      secret ??= randomText(32);
      if (!isFirst && !hasCookie(request, secret)) return undefined;
      idle?.cancel();
      open += 1;
      return isFirst ? ["set-cookie", cookieOf(request, secret)] : [];
    },
    left() {
      open -= 1;
      if (open === 0) idle = clock.after(idleMs, over);
    },
  };
  return {
    ...gate,
    behind: (upstream) => ({
      host: "",
      port: 0,
      tls: false,
      text: upstream.text,
      local: {
        ...startLazily(async () => (await import("./path-switch.ts")).pathSwitch([{ prefix: "/", upstream }], gate)),
        logTo: (log) => upstream.local?.logTo?.(log),
        close: async () => await upstream.local?.close?.(),
      },
    }),
  };
}

function schemeOf({ headers }: IncomingMessage): keyof typeof names {
  return headers["x-forwarded-proto"] === "http" ? "http" : "https";
}

function cookieOf(request: IncomingMessage, secret: string): string {
  const scheme = schemeOf(request);
  const secure = scheme === "https" ? "; Secure" : "";
  return `${names[scheme]}=${secret}; Path=/; HttpOnly; SameSite=Lax${secure}`;
}

function hasCookie(request: IncomingMessage, secret: string): boolean {
  const name = names[schemeOf(request)];
  const given = (request.headers.cookie ?? "").split(/; ?/).find((one) => one.startsWith(`${name}=`));
  const value = given?.slice(name.length + 1) ?? "";
  return timingSafeEqual(hash("sha256", value, "buffer"), hash("sha256", secret, "buffer"));
}
