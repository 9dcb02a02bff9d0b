/** Both planes in this process as a client of pebble, with a clock that tests advance. */
import assert from "node:assert/strict";
import type { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { startControlPlane } from "../../src/api/control-plane.ts";
import type { ControlPlane } from "../../src/api/control-plane.ts";
import { acmeSettings } from "../../src/settings/acme.ts";
import type { AcmeSettings } from "../../src/settings/acme.ts";
import { controlPlaneSettings } from "../../src/settings/control-plane.ts";
import { edgeSettings } from "../../src/settings/edge.ts";
import { defaultsOf } from "../../src/settings/setting.ts";
import { startEdge } from "../../src/edge/edge.ts";
import type { Edge } from "../../src/edge/edge-options.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import { makeMetrics } from "../../src/lib/metrics.ts";
import { newToken, tokenPrefixes } from "../../src/lib/tokens.ts";
import { createAuthority } from "../../src/lib/certificates/x509.ts";
import type { Downward, Upward } from "../../src/routing/planes/messages.ts";
import { send } from "./api.ts";
import type { Body } from "./api.ts";
import type { PebblePlan } from "./pebble.ts";

/** A policy on a domain. */
export const policy = { authority: "letsencrypt", private_key_type: "ecdsa" };

interface TravellingClock extends Clock {
  /** Advances the wall clock, and runs everything periodic. */
  advance(milliseconds: number): void;
}

/** A clock that can be advanced. Waiting for other processes takes real time. */
function travellingClock(): TravellingClock {
  let offset = 0;
  const recurring = new Set<() => void>();
  return {
    now: () => Date.now() + offset,
    monotonic: () => systemClock.monotonic() + offset,
    after: (delayMs, run) => systemClock.after(delayMs, run),
    every(_periodMs, run) {
      recurring.add(run);
      return { cancel: () => recurring.delete(run) };
    },
    advance(milliseconds) {
      offset += milliseconds;
      for (const run of recurring) run();
    },
  };
}

export interface AcmeServer {
  readonly clock: TravellingClock;
  readonly edge: Edge;
  readonly database: string;
  call(method: string, path: string, body?: unknown): Promise<Body>;
  /** Reserves a domain with the policy and gives it an HTTPS edge. */
  reserve(domain: string, wanted?: object): Promise<Body>;
  /** The domain as soon as `condition` holds; the test's time limit otherwise. */
  until(id: string, condition: (domain: Body) => boolean): Promise<Body>;
  /** Stops the control plane and starts another on the same database. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Both planes in this process, with a line between them, so that the control plane's time is the test's. */
export async function startAcmeServer(
  acme: AcmeSettings,
  idpHost?: string,
  domain = "apps.example.test",
): Promise<AcmeServer> {
  const clock = travellingClock();
  const directory = mkdtempSync(join(tmpdir(), "postern-acme-"));
  const apiKey = newToken(tokenPrefixes.apiKey);
  const authority = await createAuthority({ commonName: "The server's own", now: Date.now() });
  let toControl: (message: Upward) => void = () => {};
  let toEdge: (message: Downward) => void = () => {};
  let committed = (): void => {};
  const shared = { log: silentLog, domain, ...(idpHost !== undefined && { idpHost }) };
  const edge = await startEdge(
    {
      ...defaultsOf(edgeSettings),
      ...shared,
      httpsListen: { host: "127.0.0.1", port: 0 },
      httpListen: { host: "127.0.0.1", port: 0 },
      agentListen: { host: "127.0.0.1", port: 0 },
      authority,
      tunnelSecret: Buffer.alloc(32, 1),
      region: "test",
      serverVersion: "0.0.0",
      clock: systemClock,
      metrics: makeMetrics(),
      drainMs: 2000,
    },
    {
      send: (message) => setImmediate(() => toControl(structuredClone(message))),
      receive: (take) => (toEdge = take),
    },
  );
  const startControl = (): Promise<ControlPlane> =>
    startControlPlane(
      {
        ...defaultsOf(controlPlaneSettings),
        ...shared,
        ...acme,
        apiListen: { host: "127.0.0.1", port: 0 },
        data: directory,
        sealingKey: Buffer.alloc(32, 2),
        clock,
        bootstrap: { apiKey },
      },
      [
        {
          send(message) {
            // Every commit is sent to the edge, even one that does not concern it.
            committed();
            setImmediate(() => toEdge(structuredClone(message)));
          },
          receive(take) {
            toControl = take;
            setImmediate(() => take({ type: "hello", edgeId: "edge_1" }));
          },
        },
      ],
    );
  let plane = await startControl();
  const call: AcmeServer["call"] = async (method, path, body) => {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      "service-version": "2",
      ...(body !== undefined && { "content-type": "application/json" }),
    };
    const answer = await send(plane.apiUrl, method, path, body, headers);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  };
  return {
    clock,
    edge,
    database: join(directory, "postern.db"),
    call,
    async reserve(domain, wanted = policy) {
      const reserved = await call("POST", "/reserved_domains", { domain, certificate_management_policy: wanted });
      await call("POST", "/edges/https", { hostports: [`${domain.replace("*", "any")}:443`] });
      return reserved;
    },
    async until(id, condition) {
      for (;;) {
        const written = new Promise<void>((resolve) => (committed = resolve));
        const domain = await call("GET", `/reserved_domains/${id}`);
        if (condition(domain)) return domain;
        await written;
      }
    },
    async restart() {
      await plane.stop();
      plane = await startControl();
    },
    async stop() {
      await edge.stop();
      await plane.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The certificate that a browser is shown for `host`, which has to trust it by `ca`. */
export async function shownTo(host: string, port: number, ca: string): Promise<X509Certificate> {
  const socket = connect({ host: "127.0.0.1", port, servername: host, ca });
  await once(socket, "secureConnect");
  const shown = socket.getPeerX509Certificate();
  socket.destroy();
  assert.ok(shown);
  return shown;
}

export const hasCertificate = (domain: Body): boolean =>
  domain.certificate !== null && domain.certificate_management_status.provisioning_job === null;
export const hasFailed = (domain: Body): boolean =>
  domain.certificate_management_status.provisioning_job?.error_code !== null &&
  domain.certificate_management_status.provisioning_job?.retries_at !== null;

/** Settings of a client of `pebble`. */
export function settingsFor({ directoryUrl, ca }: PebblePlan): AcmeSettings {
  return {
    ...defaultsOf(acmeSettings),
    acmeDirectory: directoryUrl,
    acmeCa: ca,
    acmeEmail: "ops@example.test",
    acmeAgree: true,
  };
}
