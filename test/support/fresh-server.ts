/**
 * A fresh server in namespaces: a public address, a copy of /etc, an empty /var/lib, BIND as its name server, pebble as the
 * certificate authority, and a service manager that runs the unit as systemd would.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { root, startCommand } from "./command.ts";
import type { Finished, Running } from "./command.ts";
import { eventually } from "./eventually.ts";
import { startNamespace } from "./namespace.ts";
import { findProgram } from "./programs.ts";

export interface FreshServer {
  /** Public address of the machine. */
  readonly address: string;
  readonly directoryUrl: string;
  /** Files of CAs: of the ACME directory's server, and of the certificates that pebble issues. */
  readonly acmeCa: string;
  readonly issuingRoot: string;
  /** Starts `postern ARGS` on the machine, with nothing on stdin. */
  start(args: readonly string[], env?: Readonly<Record<string, string>>): Running;
  /** Runs another program on the machine. */
  run(...words: readonly string[]): Promise<Finished>;
  /** Adds lines to the zone. */
  addRecords(lines: readonly string[]): Promise<void>;
  /** Calls of `systemctl` since the last look. */
  serviceCalls(): readonly string[];
  serviceLog(): string;
  stop(): Promise<void>;
}

const address = "185.199.0.10";
const acmePort = 14_000;
const managementPort = 15_000;

/** systemctl(1) as far as `postern up` uses it. Runs ExecStart with the user and the capability of the unit. */
const systemctl = `#!/bin/sh
echo "$*" >> "$0.calls"
active() { [ -f /run/postern.pid ] && kill -0 "$(cat /run/postern.pid)" 2>/dev/null; }
halt() { active && kill "$(cat /run/postern.pid)"; while active; do sleep 0.1; done; }
begin() {
  command=$(sed -n 's/^ExecStart=//p' /etc/systemd/system/postern.service)
  setsid setpriv --reuid postern --regid postern --init-groups --inh-caps=+net_bind_service \\
    --ambient-caps=+net_bind_service $command </dev/null >/dev/null 2>>"$0.log" &
  echo $! > /run/postern.pid
}
case "$1" in
  is-active) active ;;
  start) begin ;;
  restart) halt; begin ;;
  stop) halt ;;
esac
`;

/** @param zone name of the zone that BIND serves, empty at first */
export async function startFreshServer(zone: string): Promise<FreshServer> {
  const directory = mkdtempSync(join(tmpdir(), "postern-fresh-"));
  chmodSync(directory, 0o755);
  const file = (name: string, text: string, mode = 0o644): string => {
    writeFileSync(join(directory, name), text, { mode });
    return join(directory, name);
  };
  mkdirSync(join(directory, "bin"));
  const manager = file("bin/systemctl", systemctl, 0o755);
  const records = [
    "$TTL 1",
    `@ SOA ns.${zone}. hostmaster.${zone}. 1 3600 600 86400 1`,
    `@ NS ns.${zone}.`,
    `ns A ${address}`,
  ];
  const zoneFile = file("zone", `${records.join("\n")}\n`);
  const named = file(
    "named.conf",
    `options { directory "${directory}"; listen-on { ${address}; }; listen-on-v6 { none; }; recursion no; pid-file none;
  session-keyfile none; dnssec-validation no; }; controls { }; zone "${zone}" { type primary; file "${zoneFile}"; };`,
  );
  const authority = await createAuthority({ commonName: "The directory's own", now: Date.now() });
  const leaf = await issueLeaf(authority, { names: ["localhost"], now: Date.now(), days: 2 });
  const acmeCa = file("acme-ca.pem", authority.certificatePem);
  const pebble = file(
    "pebble.json",
    JSON.stringify({
      pebble: {
        listenAddress: `127.0.0.1:${acmePort}`,
        managementListenAddress: `127.0.0.1:${managementPort}`,
        certificate: file("pebble.pem", leaf.certificatePem),
        privateKey: file("pebble.key", leaf.keyPem),
        httpPort: 80,
        tlsPort: 443,
        certificateValidityPeriod: 90 * 24 * 60 * 60,
      },
    }),
  );
  const modules = join(root, "node_modules");
  const namespace = await startNamespace([
    "ip link set lo up",
    "ip link add public0 type veth peer name public1",
    `ip addr add ${address}/24 dev public0`,
    "ip link set public0 up",
    "ip link set public1 up",
    `cp -a /etc ${directory}/etc`,
    `mount --bind ${directory}/etc /etc`,
    "rm -f /etc/resolv.conf",
    `echo nameserver ${address} > /etc/resolv.conf`,
    "mount -t tmpfs none /var/lib",
    "mount -t tmpfs none /run",
    "mkdir -p /run/systemd/system",
    // The service's user may not read bundles of the checkout, so the sources run.
    `mount --bind ${modules} ${modules}`,
    `mkdir -p ${modules}/.cache/postern`,
    `mount -t tmpfs none ${modules}/.cache/postern`,
    `mount -o remount,ro,bind ${modules}`,
  ]);
  const inside = { PATH: `${join(directory, "bin")}:${process.env["PATH"]}:/usr/sbin:/sbin` };
  const run = (...words: readonly string[]): Promise<Finished> =>
    startCommand([], { command: words, wrap: namespace.wrap, env: inside }).finished;
  const daemon = (...words: readonly string[]) => {
    const child = spawn("sh", ["-c", namespace.wrap, "sh", ...words], {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...inside, PEBBLE_VA_NOSLEEP: "1", PEBBLE_AUTHZREUSE: "0" },
    });
    const ended = once(child, "exit");
    return {
      hangUp: () => child.kill("SIGHUP"),
      async stop() {
        child.kill("SIGTERM");
        await ended;
      },
    };
  };
  const names = daemon(findProgram("named") as string, "-f", "-4", "-c", named);
  const issuer = daemon(findProgram("pebble") as string, "-config", pebble, "-dnsserver", `${address}:53`);
  const fetched = await eventually(
    () => run("curl", "-sS", "--cacert", acmeCa, `https://localhost:${managementPort}/roots/0`),
    ({ code }) => code === 0,
    200,
  );
  let seenCalls = 0;
  return {
    address,
    directoryUrl: `https://localhost:${acmePort}/dir`,
    acmeCa,
    issuingRoot: file("root.pem", fetched.stdout),
    start: (args, env = {}) => startCommand(args, { wrap: namespace.wrap, env: { ...inside, ...env } }),
    run,
    async addRecords(lines) {
      records.push(...lines);
      writeFileSync(zoneFile, `${records.join("\n").replace(" 1 3600", ` ${records.length} 3600`)}\n`);
      names.hangUp();
      const [name = ""] = (lines[0] ?? "").trim().split(/\s/);
      await eventually(
        () => run("getent", "ahostsv4", name.replace(/\.$/, "")),
        ({ code }) => code === 0,
        100,
      );
    },
    serviceCalls() {
      const calls = readFileSync(`${manager}.calls`, "utf8").trim().split("\n").slice(seenCalls);
      seenCalls += calls.length;
      return calls;
    },
    serviceLog: () => readFileSync(`${manager}.log`, "utf8"),
    async stop() {
      await run(manager, "stop");
      await issuer.stop();
      await names.stop();
      await namespace.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
