/**
 * BIND (Debian: `bind9`) on the loopback: a primary name server with dynamic updates by TSIG, and a secondary that copies
 * its zones with a delay. Both know no other names.
 */
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Resolver } from "node:dns/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findProgram } from "./programs.ts";

export interface TestBind {
  /** Of the primary, `ADDRESS:PORT`. */
  readonly address: string;
  /** Of the secondary. Its zones follow within two seconds. */
  readonly secondary: string;
  readonly host: string;
  readonly port: number;
  readonly key: { readonly name: string; readonly secret: string };
  /** Returns the TXT records that the primary has. */
  texts(name: string): Promise<readonly string[]>;
  /** What both servers have logged. */
  log(): string;
  /** Ends the secondary only. */
  stopSecondary(): Promise<void>;
  stop(): Promise<void>;
}

export interface BindOptions {
  /** Zones, with lines for each besides SOA and NS. The key may only change TXT records. */
  readonly zones: Readonly<Record<string, readonly string[]>>;
}

/** Addresses of both servers, which have the same port. */
const [first, second] = ["127.0.0.1", "::1"];
const key = { name: "postern-key", secret: Buffer.alloc(32, 7).toString("base64") };
/** Ends the program when this process ends, even after a crash. */
const untilInputEnds = `exec 3<&0; "$0" "$@" <&- & pid=$!; { cat <&3; kill $pid; } >/dev/null 2>&1 & wait $pid`;

/** NS records name both servers, as `ns1` and `ns2` of the zone. */
export async function startBind({ zones }: BindOptions): Promise<TestBind> {
  const files = mkdtempSync(join(tmpdir(), "postern-bind-"));
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const primary = await run(files, "primary", port, primaryZones(files, zones));
    if (!primary) continue;
    const copies = Object.keys(zones).map(
      (zone) =>
        `zone "${zone}" { type secondary; primaries port ${port} { ${first}; }; file "${files}/${zone}.copy"; min-refresh-time 1; max-refresh-time 1; };`,
    );
    const secondary = await run(files, "secondary", port, copies);
    if (!secondary) {
      await primary.stop();
      continue;
    }
    const resolver = new Resolver({ timeout: 2000, tries: 3 });
    resolver.setServers([`${first}:${port}`]);
    return {
      address: `${first}:${port}`,
      secondary: `[${second}]:${port}`,
      host: first,
      port,
      key,
      texts: async (name) => (await resolver.resolveTxt(name).catch(() => [])).map((parts) => parts.join("")),
      log: () => primary.log() + secondary.log(),
      stopSecondary: () => secondary.stop(),
      async stop() {
        await Promise.all([primary.stop(), secondary.stop()]);
        rmSync(files, { recursive: true, force: true });
      },
    };
  }
}

function primaryZones(files: string, zones: BindOptions["zones"]): readonly string[] {
  const start = "@ 60 IN SOA ns1 hostmaster 1 1 1 3600 1";
  return Object.entries(zones).map(([zone, lines]) => {
    const file = `${files}/${zone}.zone`;
    const own = ["$TTL 1", start, "@ NS ns1", "@ NS ns2", `ns1 A ${first}`, `ns2 AAAA ${second}`, ...lines];
    writeFileSync(file, `${own.join("\n")}\n`);
    const grant = `update-policy { grant ${key.name} subdomain ${zone}. TXT; }`;
    return `zone "${zone}" { type primary; file "${file}"; ${grant}; allow-transfer { any; }; notify no; };`;
  });
}

interface Server {
  log(): string;
  stop(): Promise<void>;
}

/** Resolves with undefined if the port is in use. */
async function run(
  files: string,
  name: "primary" | "secondary",
  port: number,
  zones: readonly string[],
): Promise<Server | undefined> {
  const config = join(files, `${name}.conf`);
  const root = join(files, "root.zone");
  writeFileSync(
    root,
    "$TTL 1\n@ SOA ns.invalid. hostmaster.invalid. 1 1 1 3600 1\n@ NS ns.invalid.\nns.invalid. A 127.0.0.1\n",
  );
  const options = [
    `directory "${files}"`,
    `listen-on port ${port} { ${name === "primary" ? first : "none"}; }`,
    `listen-on-v6 port ${port} { ${name === "primary" ? "none" : second}; }`,
    `pid-file "${files}/${name}.pid"`,
    `session-keyfile "${files}/${name}.session"`,
    `managed-keys-directory "${files}"`,
    "recursion yes",
    "allow-recursion { any; }",
    "dnssec-validation no",
  ];
  writeFileSync(
    config,
    [
      `options { ${options.join("; ")}; };`,
      "controls { };",
      `key "${key.name}" { algorithm hmac-sha256; secret "${key.secret}"; };`,
      `zone "." { type primary; file "${root}"; };`,
      ...zones,
    ].join("\n"),
  );
  const words = [findProgram("named") as string, "-g", "-n", "1", "-c", config];
  const child = spawn("sh", ["-c", untilInputEnds, ...words], { stdio: ["pipe", "ignore", "pipe"] });
  let output = "";
  const running = Promise.withResolvers<void>();
  child.stderr.on("data", (text) => {
    output += String(text);
    if (/ running$/m.test(output)) running.resolve();
  });
  const gone = once(child, "exit");
  await Promise.race([running.promise, gone]);
  const stop = async (): Promise<void> => {
    child.stdin.end();
    if (child.exitCode === null) await gone;
  };
  const isTaken = output.includes("address in use");
  if (isTaken || child.exitCode !== null) {
    await stop();
    if (isTaken) return undefined;
    throw new Error(`named ended: ${output}`);
  }
  return { log: () => output, stop };
}
